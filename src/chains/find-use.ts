import { decodeEventLog, type Hex, isAddressEqual, type Log, type TransactionReceipt } from 'viem';
import { tokenAbi } from './abi.ts';
import type { Authorization } from './authorization.ts';
import { findReceipt } from './find-receipt.ts';
import type { Network, Token } from './network.ts';

/** The transaction that used an authorization, no matter who sent it. */
export interface Use {
  readonly hash: Hex;
  readonly blockNumber: bigint;
}

type Known = Pick<Authorization, 'from' | 'nonce'>;

/** Nodes refuse log queries over more blocks. */
const blocksAtOnce = 1_000n;

/**
 * Finds the transaction that used an authorization within these blocks. A hint from the submitter is checked first, and
 * accepted only if its receipt contains the use.
 */
export async function findUse(
  network: Network,
  token: Token,
  authorization: Known,
  { from, to, hint }: { readonly from: bigint; readonly to: bigint; readonly hint?: Hex | undefined },
): Promise<Use | undefined> {
  const hinted = hint && (await findReceipt(network.client, hint));
  if (hinted && hinted.blockNumber <= to && hasUsed(hinted, token, authorization)) {
    return { hash: hinted.transactionHash, blockNumber: hinted.blockNumber };
  }
  for (let first = from; first <= to; first += blocksAtOnce) {
    const last = first + blocksAtOnce - 1n;
    const [log] = await network.client.getContractEvents({
      address: token.address,
      abi: tokenAbi,
      eventName: 'AuthorizationUsed',
      args: { authorizer: authorization.from, nonce: authorization.nonce },
      fromBlock: first,
      toBlock: last < to ? last : to,
    });
    if (log !== undefined) return { hash: log.transactionHash, blockNumber: log.blockNumber };
  }
  return undefined;
}

/** The search goes back this many requests at most: half a day on Polygon. */
const mostLooksBack = 20;

/**
 * What an authorization was used for, according to the logs: its own payment (`itself`), or `another` payment or a
 * cancellation by its wallet. Undefined while no log shows it: a node may have a block's state before its logs.
 */
export async function findPurpose(
  { client }: Network,
  token: Hex,
  { from, to, atomic, nonce }: Authorization,
  { lastBlock, since }: { readonly lastBlock: bigint; readonly since: bigint },
): Promise<'itself' | 'another' | undefined> {
  const contract = { address: token, abi: tokenAbi, args: { authorizer: from, nonce } } as const;
  for (let last = lastBlock, looks = 0; looks < mostLooksBack; looks++) {
    const first = last < blocksAtOnce ? 0n : last - blocksAtOnce + 1n;
    const range = { fromBlock: first, toBlock: last };
    const [[cancelled], [used]] = await Promise.all([
      client.getContractEvents({ ...contract, ...range, eventName: 'AuthorizationCanceled' }),
      client.getContractEvents({ ...contract, ...range, eventName: 'AuthorizationUsed' }),
    ]);
    if (cancelled !== undefined) return 'another';
    if (used !== undefined) {
      const receipt = await findReceipt(client, used.transactionHash);
      return receipt && (hasMoved(receipt, token, { from, to, atomic, nonce }) ? 'itself' : 'another');
    }
    if (first === 0n || (await client.getBlock({ blockNumber: first })).timestamp < since) return undefined;
    last = first - 1n;
  }
  return undefined;
}

/** Whether the token logged the use, and directly after it exactly this transfer. */
function hasMoved(
  { logs }: TransactionReceipt,
  token: Hex,
  { from, to, atomic, nonce }: Pick<Authorization, 'from' | 'to' | 'atomic' | 'nonce'>,
): boolean {
  const told = logs.map((log) => (isAddressEqual(log.address, token) ? readEvent(log) : undefined));
  return told.some((event, place) => {
    const next = told[place + 1];
    return (
      isUse(event, { from, nonce }) &&
      next?.eventName === 'Transfer' &&
      isAddressEqual(next.args.from, from) &&
      isAddressEqual(next.args.to, to) &&
      next.args.value === atomic
    );
  });
}

/** Whether the token logged the use in this receipt. */
export function hasUsed({ status, logs }: TransactionReceipt, token: Token, { from, nonce }: Known): boolean {
  if (status !== 'success') return false;
  return logs.some((log) => isAddressEqual(log.address, token.address) && isUse(readEvent(log), { from, nonce }));
}

function isUse(event: ReturnType<typeof readEvent>, { from, nonce }: Known): boolean {
  return (
    event?.eventName === 'AuthorizationUsed' &&
    isAddressEqual(event.args.authorizer, from) &&
    event.args.nonce === nonce
  );
}

function readEvent({ data, topics }: Log) {
  try {
    return decodeEventLog({ abi: tokenAbi, data, topics });
  } catch {
    return undefined;
  }
}
