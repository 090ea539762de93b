import { z } from 'zod';
import { type Amount, amountOf, subtract, toDecimalText } from '../../money/amount.ts';
import { type ChainId, chainIds, chains } from '../../money/catalogue.ts';
import { type Bridge, debitedAmount, gasKeptOf } from './bridge.ts';
import { type PublicStatus, publicStatus, publicStatuses } from './saga.ts';

export const chainField = z.enum(chainIds);

const hashes = z.object({ burn: z.string().nullable(), mint: z.string().nullable() });

export const bridgeRecord = z.object({
  transferId: z.string(),
  status: z.enum(publicStatuses),
  fromChain: chainField,
  toChain: chainField,
  amount: z.string().meta({ description: 'The amount taken from your balance, as a decimal string.' }),
  gasFee: z.string().meta({ description: 'The gas of both chains in USDC, deducted from the amount.' }),
  protocolFee: z.string().nullable().meta({
    description: 'The fee of the cross-chain protocol in USDC, at most 1 %. In the status it is null until known.',
  }),
  received: z.string().nullable().meta({
    description: 'The amount minted and credited to your balance: `amount` minus both fees.',
  }),
  estimatedTime: z.string(),
  statusUrl: z.string(),
  txHashes: hashes.meta({ description: 'The transactions on both chains, once sent.' }),
  explorerUrls: hashes.meta({ description: 'Block explorer pages of the transactions.' }),
  error: z.string().nullable().meta({
    description:
      'Why the transfer failed. The whole amount is then back in your balance on the source chain, less `gasKept`.',
  }),
  gasKept: z.string().meta({
    description: 'The gas that was spent before you froze the key that asked for the transfer. Otherwise `0`.',
  }),
  origin: z.enum(['request', 'deposit']).meta({
    description: '`request`: you requested it. `deposit`: it bridges a deposit on another chain to Polygon.',
  }),
  reachedAt: z
    .object(Object.fromEntries(publicStatuses.map((status) => [status, z.iso.datetime().optional()])))
    .meta({ description: 'When each state was reached.' }),
  createdAt: z.iso.datetime(),
  finishedAt: z.iso.datetime().nullable(),
});

type BridgeRecord = z.input<typeof bridgeRecord>;

export const exampleRecord: BridgeRecord = {
  transferId: 'brg_01kp3v2m8rfk2s6y0e6v9q4w1x',
  status: 'completed',
  fromChain: 'MATIC',
  toChain: 'BASE',
  amount: '25',
  gasFee: '0.012',
  protocolFee: '0',
  received: '24.988',
  estimatedTime: '10 to 20 minutes',
  statusUrl: 'http://127.0.0.1:8402/api/cross-chain/status/brg_01kp3v2m8rfk2s6y0e6v9q4w1x',
  txHashes: {
    burn: '0x2f1c5c2b44f771e942a8506148e256f94f1a464babc938ae0690c6e34cd79190',
    mint: '0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b',
  },
  explorerUrls: {
    burn: 'https://polygonscan.com/tx/0x2f1c5c2b44f771e942a8506148e256f94f1a464babc938ae0690c6e34cd79190',
    mint: 'https://basescan.org/tx/0x88df016429689c079f3b2f6ad39fa052532c56795b733da78a91ebe6a713944b',
  },
  error: null,
  gasKept: '0',
  origin: 'request',
  reachedAt: {
    pending: '2026-01-15T10:00:00.000Z',
    approving: '2026-01-15T10:01:05.000Z',
    burning: '2026-01-15T10:02:10.000Z',
    waiting_attestation: '2026-01-15T10:03:15.000Z',
    minting: '2026-01-15T10:14:00.000Z',
    completed: '2026-01-15T10:14:50.000Z',
  },
  createdAt: '2026-01-15T10:00:00.000Z',
  finishedAt: '2026-01-15T10:14:50.000Z',
};

export function describeInitiation(
  { id, from, to, ...money }: Pick<Bridge, 'id' | 'from' | 'to' | 'amount' | 'gasFee'>,
  protocolFee: Amount | null,
  publicUrl: string,
) {
  return {
    transferId: id,
    fromChain: from,
    toChain: to,
    amount: toDecimalText(debitedAmount(money)),
    gasFee: toDecimalText(money.gasFee),
    protocolFee: protocolFee && toDecimalText(protocolFee),
    estimatedTime: chains[from].bridgeTime,
    statusUrl: `${publicUrl}/api/cross-chain/status/${id}`,
  };
}

export function describeBridge(bridge: Bridge, publicUrl: string): BridgeRecord {
  const { from, to, minted, burnHash, mintHash, status } = bridge;
  const link = (chain: ChainId, hash: string | null) => hash && `${chains[chain].explorer}/tx/${hash}`;
  const reachedAt = describeReached(bridge);
  const { transferId, ...initiation } = describeInitiation(bridge, protocolFeeOf(bridge), publicUrl);
  return {
    transferId,
    status: publicStatus(status),
    ...initiation,
    received: minted === null ? null : toDecimalText(minted),
    txHashes: { burn: burnHash, mint: mintHash },
    explorerUrls: { burn: link(from, burnHash), mint: link(to, mintHash) },
    error: bridge.error,
    gasKept: toDecimalText(gasKeptOf(bridge)),
    origin: bridge.origin,
    reachedAt,
    createdAt: bridge.createdAt.toISOString(),
    finishedAt: reachedAt.completed ?? reachedAt.failed ?? null,
  };
}

/** The protocol's fee after the mint; before it, the maximum fee. */
function protocolFeeOf({ amount, minted, maxFee }: Bridge): Amount | null {
  if (minted !== null) return subtract(amount, minted);
  return maxFee === null ? null : amountOf(amount.asset, maxFee);
}

/** To its owner, a transfer has failed as soon as it is `returning` its tokens to the treasury. */
function describeReached({ reached }: Bridge): Partial<Record<PublicStatus, string>> {
  const { returning, ...states } = reached;
  const times = { ...states, ...(returning !== undefined && { failed: returning }) };
  return Object.fromEntries(
    publicStatuses.flatMap((status) => {
      const time = times[status];
      return time === undefined ? [] : [[status, new Date(time).toISOString()]];
    }),
  );
}
