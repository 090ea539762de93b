import { advanceSaga } from '../../custody/steps/advance-saga.ts';
import { approveStep, fillStep, returnTokens, stepsToReturn } from '../../custody/steps/spending-wallet.ts';
import type { StepEnd } from '../../custody/steps/take-step.ts';
import { houseWallet } from '../../custody/wallets/house-wallets.ts';
import { accountsKeepingUntilCommit } from '../../custody/wallets/kept-chains.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import type { SagaStep } from '../../kernel/sagas/run-saga.ts';
import { type AccountId, houseAccount, userAccount } from '../../ledger/account-id.ts';
import type { Posting } from '../../ledger/posting.ts';
import { chains } from '../../money/catalogue.ts';
import { type Bridge, burnStep, debitedAmount, sourceOf } from './bridge.ts';
import { type BridgeParts, spendingOf } from './parts.ts';
import { bridgeSaga } from './saga.ts';

/** The wait before a deposit that could not be moved home is tried again. */
const carryAgainAfter = '1 hour';

/**
 * The amount was certainly not burnt: its owner has all of it back in this commit. The tokens in the wallet that burns return to the
 * treasury later, and the approval is revoked.
 */
export async function failBridge(
  parts: BridgeParts,
  bridge: Bridge,
  end: StepEnd,
  reason = end.state === 'failed' ? end.reason : '',
): Promise<void> {
  const { db, ledger, logger } = parts;
  const { id, status, origin, from: chain } = bridge;
  const isFilled = status !== 'pending';
  const isApproved = status === 'burning' || end.state === 'confirmed';
  await db.transaction(async (tx) => {
    const { address: recipient } = await houseWallet(tx, 'treasury', chain);
    return advanceSaga(tx, ledger, bridgeSaga, {
      id,
      from: status,
      to: isFilled ? 'returning' : 'failed',
      set: { error: reason },
      settle: [{ ...failedStep(bridge), end }],
      plan: isFilled ? stepsToReturn(await spendingOf(tx, bridge), { recipient, isApproved }) : [],
      post: async () => {
        const account = origin === 'deposit' ? await releaseDeposits(tx, bridge) : sourceOf(bridge);
        return [refund(bridge, account, reason)];
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
  const { id, accountId, from, to } = bridge;
  const amount = debitedAmount(bridge);
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
