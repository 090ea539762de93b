import { type AuditActor, recordAudit } from '../../accounts/audit/record.ts';
import { isFrozen } from '../../accounts/find-account.ts';
import { dropStep } from '../../custody/steps/plan-step.ts';
import { hasUnexplainedTransactions } from '../../custody/steps/unknown-calls.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import { balanceErrors } from '../../ledger/balance-errors.ts';
import { type Ledger, postOrThrow } from '../../ledger/ledger.ts';
import { withdrawalErrors } from './errors.ts';
import { returnPosting } from './finish-withdrawal.ts';
import { findWithdrawal, firstStep, type Withdrawal } from './withdrawal.ts';

/**
 * Refunds the full amount in the caller's commit, if the provider was not asked yet. Only the operator decides about
 * withdrawals that screening or a freeze holds. Cancelling again returns the cancelled withdrawal.
 */
export async function cancelWithdrawal(
  tx: Transaction,
  ledger: Ledger,
  { id, accountId, by }: { readonly id: string; readonly accountId: bigint; readonly by: AuditActor },
): Promise<Withdrawal> {
  const withdrawal = await lockOwn(tx, id, accountId);
  if (withdrawal.status === 'cancelled') return withdrawal;
  if (!isUnsent(withdrawal)) throw withdrawalErrors.withdrawal_not_cancellable(explain(withdrawal));
  // Lock order: the withdrawal, then its owner, as in `holdWithin`.
  if (await isFrozen(tx, accountId)) throw balanceErrors.account_frozen();
  if (await hasUnexplainedTransactions(tx, withdrawal)) throw withdrawalErrors.withdrawal_not_cancellable(unknownSent);
  await tx.query(
    `UPDATE withdrawals SET status = 'cancelled', error = NULL, updated_at = now(), finished_at = now() WHERE id = $1`,
    [id],
  );
  // Dropping the step leaves the queue and frees the reserved tokens.
  await dropStep(tx, firstStep(withdrawal));
  await recordAudit(tx, { accountId, action: 'withdrawal.cancelled', by, details: { withdrawalId: id } });
  await postOrThrow(tx, ledger, [returnPosting(withdrawal, 'cancelled')]);
  return (await findWithdrawal(tx, id)) ?? withdrawal;
}

async function lockOwn(tx: Transaction, id: string, accountId: bigint): Promise<Withdrawal> {
  await tx.query('SELECT FROM withdrawals WHERE id = $1 AND account_id = $2 FOR UPDATE', [id, accountId]);
  const found = await findWithdrawal(tx, id);
  if (found === undefined || found.accountId !== accountId) throw withdrawalErrors.withdrawal_not_found();
  return found;
}

/** The provider was not asked, and only the hourly limit may hold it. */
function isUnsent({ status, heldBy }: Withdrawal): boolean {
  return status === 'queued' || status === 'awaiting_liquidity' || (status === 'held' && heldBy === 'hourly_limit');
}

function explain({ status }: Withdrawal): string | undefined {
  if (status === 'held')
    return 'The operator is reviewing this withdrawal, so it cannot be cancelled. Contact the operator.';
  if (status === 'complete') return 'The withdrawal is already complete.';
  if (status === 'failed') return 'The withdrawal has failed, and the whole amount is back in your balance.';
  if (status === 'wrapping')
    return 'The withdrawal has failed, and the whole amount is being returned to your balance.';
  return 'The withdrawal has been submitted and can no longer be cancelled.';
}

const unknownSent =
  'It is not certain yet whether the withdrawal was sent, so it cannot be cancelled. Contact the operator.';
