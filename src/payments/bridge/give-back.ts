import { encodeFunctionData } from 'viem';
import { allowanceAbi } from '../../chains/abi.ts';
import { cctp } from '../../chains/cctp.ts';
import { timesPlanned, waitToAskAnew } from '../../custody/steps/ask-anew.ts';
import { findStep } from '../../custody/steps/chain-step.ts';
import { planStep } from '../../custody/steps/plan-step.ts';
import { settleStep } from '../../custody/steps/settle-step.ts';
import { type StepEnd, type StepProgress, takeStep } from '../../custody/steps/take-step.ts';
import { houseWallet } from '../../custody/wallets/house-wallets.ts';
import { keepersUntilCommit } from '../../custody/wallets/kept-chains.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { type AccountId, houseAccount, userAccount } from '../../ledger/account-id.ts';
import { postSurely } from '../../ledger/post-surely.ts';
import type { Posting } from '../../ledger/posting.ts';
import { chains } from '../../money/catalogue.ts';
import {
  approveStep,
  type Bridge,
  burnStep,
  disallowStep,
  fillStep,
  returnStep,
  sourceOf,
  takenFor,
} from './bridge.ts';
import { findBurner } from './burner.ts';
import type { BridgeParts } from './parts.ts';
import { bridgeSaga } from './saga.ts';

/** How long a deposit that could not be carried home is left alone. */
const carryAgainAfter = '1 hour';

/**
 * It was certainly not burnt: the whole amount is its owner's again at once. What the wallet that burns holds for it goes back to
 * the treasury, and what the protocol was allowed to take is taken back.
 */
export async function failBridge(
  parts: BridgeParts,
  bridge: Bridge,
  end: StepEnd,
  reason = end.state === 'failed' ? end.reason : '',
): Promise<void> {
  const { db, ledger, logger } = parts;
  const { id, status } = bridge;
  const next = status === 'pending' ? 'failed' : 'returning';
  await db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      `UPDATE bridges SET status = $2, error = $3, updated_at = now(),
          finished_at = CASE WHEN $2 = 'failed' THEN now() END
        WHERE id = $1 AND status = $4`,
      [id, next, reason, status],
    );
    if (rowCount === 0) return;
    const gas = await settleStep(tx, failedStep(bridge), end);
    if (status !== 'pending') await planReturn(tx, bridge, status === 'burning' || end.state === 'confirmed');
    const account = bridge.origin === 'deposit' ? await releaseDeposits(tx, bridge) : sourceOf(bridge);
    await postSurely(tx, ledger, [refund(bridge, account, reason), ...(gas ?? [])]);
  });
  logger.warn({ bridge: id }, `a cross-chain transfer failed: ${reason}`);
}

/**
 * What was to come home waits again, or is at hand where its owner has chosen meanwhile to keep what arrives. Answers the account
 * that gets it: straight to the right one, because nothing can be taken from an owner who was frozen on the way.
 */
async function releaseDeposits(tx: Transaction, bridge: Bridge): Promise<AccountId> {
  const { id, accountId, from, amount } = bridge;
  const keepers = await keepersUntilCommit(tx, from, [accountId]);
  if (keepers.has(accountId)) {
    await tx.query('UPDATE deposits SET bridge_id = NULL, kept_at = now() WHERE bridge_id = $1', [id]);
    return userAccount(accountId, amount.asset, from);
  }
  await tx.query('UPDATE deposits SET bridge_id = NULL, carry_after = now() + $2::interval WHERE bridge_id = $1', [
    id,
    carryAgainAfter,
  ]);
  return sourceOf(bridge);
}

function failedStep(bridge: Bridge): { sagaId: string; step: string } {
  if (bridge.status === 'pending') return fillStep(bridge.id);
  return bridge.status === 'approving' ? approveStep(bridge.id) : burnStep(bridge);
}

function refund(bridge: Bridge, account: AccountId, reason: string): Posting {
  const { id, accountId, from, to } = bridge;
  const amount = takenFor(bridge);
  return {
    type: 'bridge_returned',
    amount,
    entries: [
      { account: houseAccount('bridges_in_transit', amount.asset, from), atomic: -amount.atomic },
      { account, atomic: amount.atomic },
    ],
    reference: `bridge:${id}:end`,
    description: `A transfer to ${chains[to].name} failed.`,
    details: { bridgeId: id, fromChain: from, toChain: to, error: reason },
    recipientId: accountId,
    recipientEvent: 'bridge.failed',
  };
}

async function planReturn(tx: Transaction, bridge: Bridge, isAllowed: boolean): Promise<void> {
  const { id, from: chain } = bridge;
  await planBack(tx, bridge, 1);
  if (!isAllowed) return;
  await planStep(tx, { saga: bridgeSaga.name, ...disallowStep(id), chain, wallet: await findBurner(tx, bridge) });
}

async function planBack(tx: Transaction, bridge: Bridge, time: number): Promise<void> {
  const { id, from: chain, amount } = bridge;
  const { address: recipient } = await houseWallet(tx, 'treasury', chain);
  const leaves = [{ amount, recipient, stays: true as const }];
  const wallet = await findBurner(tx, bridge);
  await planStep(tx, { saga: bridgeSaga.name, ...returnStep(id, time), chain, wallet, leaves });
}

/**
 * Returning: house-keeping. Its owner has the money already. The treasury needs the tokens, so what is refused is asked for again
 * until they are back.
 */
export async function returnToTreasury(parts: BridgeParts, bridge: Bridge): Promise<SagaStep> {
  const { db, ledger } = parts;
  const { id } = bridge;
  const disallowed = await disallow(parts, bridge);
  if (disallowed?.state === 'waiting') return disallowed;
  const time = await timesPlanned(parts, { sagaId: id, name: 'return' });
  const back = await takeBack(parts, bridge, time);
  if (back.state === 'waiting') return back;
  if (back.state === 'failed') {
    await takeBackAnew(parts, bridge, { time, end: back });
    return waitToAskAnew(time, `its tokens to go back to the treasury: ${back.reason}`);
  }
  await db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      `UPDATE bridges SET status = 'failed', updated_at = now(), finished_at = now()
        WHERE id = $1 AND status = 'returning'`,
      [id],
    );
    if (rowCount === 0) return;
    const gas = (await settleStep(tx, returnStep(id, time), back)) ?? [];
    const more = disallowed === undefined ? [] : ((await settleStep(tx, disallowStep(id), disallowed)) ?? []);
    await postSurely(tx, ledger, [...gas, ...more]);
  });
  return 'rest';
}

async function takeBack(parts: BridgeParts, { id, from, amount }: Bridge, time: number): Promise<StepProgress> {
  const { address: to } = await recipientOf(parts, returnStep(id, time));
  return takeStep(parts, returnStep(id, time), (wallet) => ({
    from: wallet,
    token: chains[from].tokens.USDC,
    to,
    atomic: amount.atomic,
  }));
}

/** One commit: this one has failed, and the next is planned, to the treasury of that moment. */
async function takeBackAnew(
  { db, ledger }: BridgeParts,
  bridge: Bridge,
  { time, end }: { readonly time: number; readonly end: StepEnd },
): Promise<void> {
  await db.transaction(async (tx) => {
    const gas = await settleStep(tx, returnStep(bridge.id, time), end);
    if (gas === undefined) return;
    await planBack(tx, bridge, time + 1);
    await postSurely(tx, ledger, gas);
  });
}

/** The treasury as it was when the step was planned: what is asked for under one key never changes. */
async function recipientOf(
  { db }: BridgeParts,
  { sagaId, step }: ReturnType<typeof returnStep>,
): Promise<{ address: `0x${string}` }> {
  const { rows } = await db.query<{ address: `0x${string}` }>(
    `SELECT l.recipient AS address FROM chain_step_leaves l JOIN chain_steps s ON s.id = l.step_id
      WHERE s.saga_id = $1 AND s.step = $2`,
    [sagaId, step],
  );
  const [found] = rows;
  if (found === undefined) throw new Error(`bridge ${sagaId} has nothing to return`);
  return found;
}

async function disallow(parts: BridgeParts, { id, from, amount }: Bridge): Promise<StepProgress | undefined> {
  if ((await findStep(parts.db, disallowStep(id))) === undefined) return undefined;
  return takeStep(parts, disallowStep(id), (wallet) => ({
    from: wallet,
    contract: chains[from].tokens.USDC,
    data: encodeFunctionData({
      abi: allowanceAbi,
      functionName: 'decreaseAllowance',
      args: [cctp.tokenMessenger, amount.atomic],
    }),
  }));
}
