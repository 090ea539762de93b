import { advanceSaga } from '../../custody/steps/advance-saga.ts';
import { approveStep, fillStep, returnTokens, stepsToReturn } from '../../custody/steps/spending-wallet.ts';
import type { StepEnd } from '../../custody/steps/take-step.ts';
import { houseWallet } from '../../custody/wallets/house-wallets.ts';
import { accountsKeepingUntilCommit } from '../../custody/wallets/kept-chains.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { type AccountId, houseAccount, userAccount } from '../../ledger/account-id.ts';
import type { Posting } from '../../ledger/posting.ts';
import { subtract } from '../../money/amount.ts';
import { chains } from '../../money/catalogue.ts';
import { type Bridge, burnStep, debitedAmount, gasKeptOf, sourceOf } from './bridge.ts';
import { type BridgeParts, spendingOf } from './parts.ts';
import { bridgeSaga } from './saga.ts';

/** The wait before a deposit that could not be moved home is tried again. */
const carryAgainAfter = '1 hour';

/**
 * The amount was certainly not burnt: its owner has all of it back in this commit, less the gas if a frozen key is the cause. The tokens in the wallet that burns return to the
 * treasury later, and the approval is revoked.
 */
export async function failBridge(
  parts: BridgeParts,
  bridge: Bridge,
  end: StepEnd | 'never asked',
  reason = typeof end !== 'string' && end.state === 'failed' ? end.reason : '',
): Promise<void> {
  const { db, ledger, logger } = parts;
  const { id, status, origin, from: chain } = bridge;
  const isFilled = status !== 'pending';
  const wasAsked = end !== 'never asked';
  const isApproved = status === 'burning' || (wasAsked && end.state === 'confirmed');
  await db.transaction(async (tx) => {
    const { address: recipient } = await houseWallet(tx, 'treasury', chain);
    return advanceSaga(tx, ledger, bridgeSaga, {
      id,
      from: status,
      to: isFilled ? 'returning' : 'failed',
      set: { error: reason },
      // The database refuses to drop a step that was submitted meanwhile: then all of this is rolled back.
      ...(wasAsked ? { settle: [{ ...failedStep(bridge), end }] } : { drop: [failedStep(bridge)] }),
      plan: isFilled ? stepsToReturn(await spendingOf(tx, bridge), { recipient, isApproved }) : [],
      post: async () => {
        const account = origin === 'deposit' ? await releaseDeposits(tx, bridge) : sourceOf(bridge);
        return [refund({ ...bridge, status: isFilled ? 'returning' : 'failed', error: reason }, account, reason)];
      },
    });
  });
  logger.warn({ bridge: id }, `a cross-chain transfer failed: ${reason}`);
}

/**
 * The deposits wait again, or become spendable on their chain if the owner has made a cross-chain wallet meanwhile. Answers the account to
 * refund. It must be the right one at once, because a frozen account cannot be debited later.
 */
async function releaseDeposits(tx: Transaction, bridge: Bridge): Promise<AccountId> {
  const { id, accountId, from, amount } = bridge;
  const keepers = await accountsKeepingUntilCommit(tx, from, [accountId]);
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
  const { id, accountId, keyId, from, to } = bridge;
  const taken = debitedAmount(bridge);
  const kept = gasKeptOf(bridge);
  const back = subtract(taken, kept);
  const { asset } = taken;
  return {
    type: 'bridge_returned',
    amount: back,
    entries: [
      { account: houseAccount('bridges_in_transit', asset, from), atomic: -taken.atomic },
      { account, atomic: back.atomic },
      ...(kept.atomic > 0n ? [{ account: houseAccount('fees', asset, from), atomic: kept.atomic }] : []),
    ],
    reference: `bridge:${id}:end`,
    description: `A transfer to ${chains[to].name} failed.`,
    details: { bridgeId: id, fromChain: from, toChain: to, error: reason },
    ...(keyId !== null && { returns: { of: id, part: back.atomic, whole: taken.atomic } }),
    recipientId: accountId,
    recipientEvent: 'bridge.failed',
  };
}

/** Returning: the owner has the money already, and the treasury gets its tokens back. */
export async function returnToTreasury(parts: BridgeParts, bridge: Bridge): Promise<SagaStep> {
  const { db, ledger } = parts;
  const back = await returnTokens(parts, await spendingOf(db, bridge));
  if (!('ended' in back)) return back;
  await db.transaction((tx) =>
    advanceSaga(tx, ledger, bridgeSaga, { id: bridge.id, from: 'returning', to: 'failed', settle: back.ended }),
  );
  return 'rest';
}
