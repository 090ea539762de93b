import {
  decodeFunctionData,
  encodeFunctionData,
  type Hex,
  isAddressEqual,
  pad,
  size,
  slice,
  TransactionNotFoundError,
  zeroHash,
} from 'viem';
import { cctp, standardFinality, tokenMessengerAbi } from '../../chains/cctp.ts';
import { advanceSaga } from '../../custody/steps/advance-saga.ts';
import { findStep, requireNetwork } from '../../custody/steps/chain-step.ts';
import type { NewStep } from '../../custody/steps/plan-step.ts';
import { approveStep } from '../../custody/steps/spending-wallet.ts';
import { type StepEnd, takeStep } from '../../custody/steps/take-step.ts';
import { unexplainedCalls } from '../../custody/steps/unknown-calls.ts';
import { houseWallet, listHouseWallets } from '../../custody/wallets/house-wallets.ts';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import type { Posting } from '../../ledger/posting.ts';
import { chains } from '../../money/catalogue.ts';
import { keyFrozen, requireUnfrozenStep, stoppedByFreeze } from '../../policies/frozen.ts';
import { askTerms, feeTooHigh } from './ask-protocol.ts';
import { type Bridge, burnStep } from './bridge.ts';
import { failBridge } from './fail-bridge.ts';
import { type BridgeParts, findBurner } from './parts.ts';
import { bridgeSaga } from './saga.ts';

interface BurnTerms {
  readonly maxFee: bigint;
  readonly recipient: Hex;
}

/**
 * After a restore from a backup the amount may already be burned, on terms that were decided after the backup. If the wallet has sent an
 * unexplained burn that matches this bridge, the burn is requested on the same terms: then the provider recognises it, and the mint goes
 * where it is expected.
 */
async function recallBurn(db: Queryable, bridge: Bridge): Promise<BurnTerms | undefined> {
  const { from: chain, to } = bridge;
  const { address: wallet } = await findBurner(db, bridge);
  const ours = (await listHouseWallets(db)).filter((one) => one.chain === to);
  for (const data of await unexplainedCalls(db, { chain, wallet, contract: cctp.tokenMessenger })) {
    const terms = readBurn(bridge, data);
    if (terms !== undefined && ours.some(({ address }) => isAddressEqual(address, terms.recipient))) return terms;
  }
  return undefined;
}

/** The terms of a burn, if it has exactly this amount and destination. */
function readBurn({ from, to, amount }: Bridge, data: Hex): BurnTerms | undefined {
  try {
    const { functionName, args } = decodeFunctionData({ abi: tokenMessengerAbi, data });
    if (functionName !== 'depositForBurn') return undefined;
    const [atomic, domain, recipient, token, caller, maxFee, finality] = args;
    const isAlike =
      atomic === amount.atomic &&
      domain === chains[to].domain &&
      isAddressEqual(token, chains[from].tokens.USDC) &&
      caller === zeroHash &&
      finality === standardFinality;
    return isAlike ? { maxFee, recipient: slice(recipient, size(recipient) - 20) } : undefined;
  } catch {
    // Another function of the contract.
    return undefined;
  }
}

/**
 * Fixes the terms of the burn once, because it is requested under one key: the maximum fee and the recipient of the mint. If the protocol's
 * fee has become too high since the transfer was accepted, nothing is burned and the whole amount is refunded.
 */
export async function prepareBurn(parts: BridgeParts, bridge: Bridge, end: StepEnd): Promise<void> {
  const { db, ledger, networks } = parts;
  const { id, from, to, amount } = bridge;
  const { minFee } = await askTerms(requireNetwork(networks, from), amount);
  const trouble = feeTooHigh({ minFee }, amount);
  if (trouble !== undefined) return failBridge(parts, bridge, end, trouble);
  await db.transaction(async (tx) => {
    const { maxFee, recipient } = (await recallBurn(tx, bridge)) ?? {
      maxFee: minFee,
      recipient: (await houseWallet(tx, 'treasury', to)).address,
    };
    return advanceSaga(tx, ledger, bridgeSaga, {
      id,
      from: 'approving',
      to: 'burning',
      set: { maxFee, mintRecipient: recipient.toLowerCase() },
      settle: [{ ...approveStep(id), end }],
      plan: [await stepToBurn(tx, bridge, recipient)],
    });
  });
}

/**
 * The burn step expects the mint, because anybody may deliver the message. The message's nonce and the protocol's fee are known only when
 * it is attested.
 */
export async function stepToBurn(tx: Transaction, bridge: Bridge, recipient: Hex): Promise<NewStep> {
  const { from, to, amount } = bridge;
  return {
    saga: bridgeSaga.name,
    ...burnStep(bridge),
    chain: from,
    wallet: await findBurner(tx, bridge),
    leaves: [{ amount }],
    arrives: [
      {
        chain: to,
        address: recipient,
        asset: amount.asset,
        account: houseAccount('receivables', amount.asset, to),
        knownBy: { proof: null },
      },
    ],
  };
}

export async function burn(parts: BridgeParts, bridge: Bridge): Promise<SagaStep> {
  const { db, ledger, checkpoint = noCheckpoint } = parts;
  const { id, from, to, amount, maxFee, mintRecipient } = bridge;
  if (maxFee === null || mintRecipient === null) throw new Error(`bridge ${id} does not know what to burn for`);
  const data = encodeFunctionData({
    abi: tokenMessengerAbi,
    functionName: 'depositForBurn',
    args: [
      amount.atomic,
      chains[to].domain,
      pad(mintRecipient),
      chains[from].tokens.USDC,
      // Anybody may deliver the message, so that it arrives even if we cannot.
      zeroHash,
      maxFee,
      standardFinality,
    ],
  });
  const progress = await takeStep(
    parts,
    burnStep(bridge),
    (wallet) => ({ from: wallet, contract: cctp.tokenMessenger, data }),
    (tx) => requireUnfrozenStep(tx, bridge, { ...burnStep(bridge), chain: from }),
  ).catch(stoppedByFreeze);
  if (progress === 'stopped') {
    await failBridge(parts, bridge, 'never asked', keyFrozen);
    return 'go_on';
  }
  if (progress.state === 'waiting') return progress;
  if (progress.state === 'failed') {
    await failBridge(parts, bridge, progress);
    return 'go_on';
  }
  const sent = await findSent(parts, bridge, progress.hash);
  if (sent === undefined) return sendAgain(parts, bridge);
  await db.transaction((tx) =>
    advanceSaga(tx, ledger, bridgeSaga, {
      id,
      from: 'burning',
      to: 'waiting_attestation',
      set: { burnHash: progress.hash, burnNonce: sent.nonce },
      settle: [{ ...burnStep(bridge), end: progress }],
      post: [burnPosting(bridge, 'burnt')],
    }),
  );
  checkpoint('bridge.burnt');
  // The next step asks the attestation service, in another lane.
  return { lookAgainInMs: 0, waitsFor: 'its attestation' };
}

/**
 * The burn on the chain; undefined when it is no longer there. The nonce is null when another account has sent the transaction, because then
 * it says nothing about the burn.
 */
async function findSent(
  { db, networks }: BridgeParts,
  bridge: Bridge,
  hash: Hex,
): Promise<{ readonly nonce: number | null } | undefined> {
  const { address } = await findBurner(db, bridge);
  const { client } = requireNetwork(networks, bridge.from);
  const sent = await client.getTransaction({ hash }).catch((error: unknown) => {
    if (error instanceof TransactionNotFoundError) return undefined;
    throw error;
  });
  if (sent === undefined || sent.blockNumber === null) return undefined;
  return { nonce: isAddressEqual(sent.from, address) ? sent.nonce : null };
}

/** A reorg has undone the burn after the provider called it final and before it was posted. */
async function sendAgain({ db, networks, provider }: BridgeParts, bridge: Bridge): Promise<SagaStep> {
  const step = await findStep(db, burnStep(bridge));
  if (step?.providerRef != null) await provider.sendAgain(bridge.from, step.providerRef);
  const { pollMs } = requireNetwork(networks, bridge.from);
  return { lookAgainInMs: pollMs, waitsFor: 'its burn to come back to the chain', isTrouble: true };
}

/** Posts a burn on both chains, or reverses it after a reorg. With the burn the house earns the gas fee. */
export function burnPosting({ id, burns, from, to, amount, gasFee }: Bridge, what: 'burnt' | 'undone'): Posting {
  const { asset } = amount;
  const sign = what === 'burnt' ? 1n : -1n;
  const [atomic, earned] = [sign * amount.atomic, sign * gasFee.atomic];
  return {
    type: `bridge_${what}`,
    amount,
    entries: [
      { account: houseAccount('bridges_in_transit', asset, from), atomic: -atomic - earned },
      { account: houseAccount('custody', asset, from), atomic },
      ...(earned === 0n ? [] : [{ account: houseAccount('fees', asset, from), atomic: earned }]),
      { account: houseAccount('receivables', asset, to), atomic: -atomic },
      { account: houseAccount('bridges_in_transit', asset, to), atomic },
    ],
    reference: `bridge:${id}:${what}:${burns}`,
    details: { bridgeId: id, fromChain: from, toChain: to },
  };
}
