import { dropStep } from '../../custody/steps/plan-step.ts';
import { settleStep } from '../../custody/steps/settle-step.ts';
import type { StepEnd } from '../../custody/steps/take-step.ts';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { postSurely } from '../../ledger/post-surely.ts';
import type { Posting } from '../../ledger/posting.ts';
import { firstStep, isNative, payStep, sourceOf, type Withdrawal } from './withdrawal.ts';

interface FinishParts {
  readonly db: Database;
  readonly ledger: Ledger;
}

/** It arrived: the money leaves the books as it has left the chain, and the fee is earned. One commit. */
export async function completeWithdrawal(
  { db, ledger }: FinishParts,
  withdrawal: Withdrawal,
  end: Extract<StepEnd, { state: 'confirmed' }>,
): Promise<void> {
  const { id, accountId, chain, address, gross, fee, net } = withdrawal;
  const { asset } = gross;
  // What was unwrapped has left custody already.
  const paidFrom = isNative(withdrawal) ? 'unwrapped_in_transit' : 'custody';
  await db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      `UPDATE withdrawals SET status = 'complete', error = NULL, updated_at = now(), finished_at = now()
        WHERE id = $1 AND status = 'sending'`,
      [id],
    );
    if (rowCount === 0) return;
    const gas = await settleStep(tx, payStep(id), end);
    await postSurely(tx, ledger, [
      {
        type: 'withdrawal_completed',
        amount: gross,
        fee,
        entries: [
          { account: houseAccount('withdrawals_in_transit', asset, chain), atomic: -gross.atomic },
          { account: houseAccount('fees', asset, chain), atomic: fee.atomic },
          { account: houseAccount(paidFrom, asset, chain), atomic: net.atomic },
        ],
        reference: `withdrawal:${id}:end`,
        details: { withdrawalId: id, chain, address, txHash: end.hash },
        ...(accountId !== null && { senderId: accountId, senderEvent: 'withdrawal.completed' }),
      },
      ...(gas ?? []),
    ]);
  });
}

/**
 * It will never arrive: everything goes back where it came from, the fee too. One commit, with whatever else is part of it. False
 * when it was over before.
 */
export async function failWithdrawal(
  { db, ledger }: FinishParts,
  withdrawal: Withdrawal,
  end: Extract<StepEnd, { state: 'failed' }>,
  alongside: (tx: Transaction) => Promise<void> = async () => {},
): Promise<boolean> {
  const { id, status } = withdrawal;
  return db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      `UPDATE withdrawals SET status = 'failed', error = $2, updated_at = now(), finished_at = now()
        WHERE id = $1 AND status = $3`,
      [id, end.reason, status],
    );
    if (rowCount === 0) return false;
    await alongside(tx);
    const wasAsked = status === 'sending' || status === 'unwrapping';
    const gas = wasAsked ? await settleStep(tx, firstStep(withdrawal), end) : undefined;
    // What was held was never asked for, and has left the line already; what waits leaves it now.
    if (status === 'awaiting_liquidity') await dropStep(tx, firstStep(withdrawal));
    await postSurely(tx, ledger, [returnPosting(withdrawal, { failed: end.reason }), ...(gas ?? [])]);
    return true;
  });
}

/** Gross goes back where it came from: because it failed, for that reason, or because its owner has called it back. */
export function returnPosting(withdrawal: Withdrawal, why: { readonly failed: string } | 'cancelled'): Posting {
  const { id, accountId, chain, address, gross } = withdrawal;
  const isCancelled = why === 'cancelled';
  return {
    type: 'withdrawal_returned',
    amount: gross,
    entries: [
      { account: houseAccount('withdrawals_in_transit', gross.asset, chain), atomic: -gross.atomic },
      { account: sourceOf(withdrawal), atomic: gross.atomic },
    ],
    reference: `withdrawal:${id}:end`,
    description: isCancelled ? 'A withdrawal was cancelled.' : 'A withdrawal could not be paid out.',
    details: { withdrawalId: id, chain, address, ...(!isCancelled && { error: why.failed }) },
    ...(accountId !== null && {
      recipientId: accountId,
      recipientEvent: isCancelled ? 'withdrawal.cancelled' : 'withdrawal.failed',
    }),
  };
}
