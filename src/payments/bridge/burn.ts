import { encodeFunctionData, type Hex, isAddressEqual, pad, TransactionNotFoundError, zeroHash } from 'viem';
import { cctp, standardFinality, tokenMessengerAbi } from '../../chains/cctp.ts';
import { advanceSaga } from '../../custody/steps/advance-saga.ts';
import { findStep } from '../../custody/steps/chain-step.ts';
import { requireNetwork } from '../../custody/steps/parts.ts';
import type { NewStep } from '../../custody/steps/plan-step.ts';
import { approveStep } from '../../custody/steps/spending-wallet.ts';
import { type StepEnd, takeStep } from '../../custody/steps/take-step.ts';
import { houseWallet } from '../../custody/wallets/house-wallets.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import type { Posting } from '../../ledger/posting.ts';
import { chains } from '../../money/catalogue.ts';
import { askTerms, tooDear } from './ask-protocol.ts';
import { type Bridge, burnStep } from './bridge.ts';
import { findBurner } from './burner.ts';
import { failBridge } from './give-back.ts';
import type { BridgeParts } from './parts.ts';
import { recallBurn } from './recall-burn.ts';
import { bridgeSaga } from './saga.ts';

/**
 * Fixes the terms of the burn once, because it is requested under one key: the maximum fee and the recipient of the mint. If the protocol's
 * fee has become too high since the transfer was accepted, nothing is burned and the whole amount is refunded.
 */
export async function prepareBurn(parts: BridgeParts, bridge: Bridge, end: StepEnd): Promise<void> {
  const { db, ledger, networks } = parts;
  const { id, from, to, amount } = bridge;
  const { minFee } = await askTerms(requireNetwork(networks, from), amount);
  const trouble = tooDear({ minFee }, amount);
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
  const progress = await takeStep(parts, burnStep(bridge), (wallet) => ({
    from: wallet,
    contract: cctp.tokenMessenger,
    data: encodeFunctionData({
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
    }),
  }));
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
