import { announceAccountChange } from '../../accounts/account-changes.ts';
import { recordAudit } from '../../accounts/audit/record.ts';
import { isFrozen } from '../../accounts/find-account.ts';
import { fitsHourlyLimit, lockHourlyLimit, readSentBefore } from '../../custody/limits/hourly-limit.ts';
import { faceValue, mostValue } from '../../custody/limits/value-limits.ts';
import { dropStep } from '../../custody/steps/plan-step.ts';
import type { StepProgress } from '../../custody/steps/take-step.ts';
import { type Database, onlyRow, type Transaction } from '../../kernel/db/database.ts';
import { lockOwner } from '../../ledger/require-live-key.ts';
import { amountOf, toDecimalText } from '../../money/amount.ts';
import { KeyFrozen, requireUnfrozenStep } from '../../policies/frozen.ts';
import type { WithdrawalStatus } from './saga.ts';
import { firstStep, type Holder, type Withdrawal, type WithdrawalSagaParts } from './withdrawal.ts';

/** A hit holds the withdrawal for the operator and freezes its account. */
export async function isHeldByScreening(
  { db, screening, logger }: WithdrawalSagaParts,
  withdrawal: Withdrawal,
): Promise<boolean> {
  const { id, chain, address, released } = withdrawal;
  const verdict = released ? { clear: true as const } : await screening.check({ chain, address });
  if (verdict.clear) return false;
  const isHeld = await holdWithdrawal(db, withdrawal, { reason: verdict.reason, freeze: true });
  logger.error(
    { withdrawal: id },
    isHeld
      ? `held a withdrawal and froze its account: ${verdict.reason}`
      : `screening hit on a withdrawal that is already finished or being sent: ${verdict.reason}`,
  );
  return true;
}

interface Going {
  readonly to: WithdrawalStatus;
  readonly step: string;
}

/** False when the account is frozen or the hourly limit is reached: then the withdrawal is held. */
export async function advanceUnlessHeld(
  parts: WithdrawalSagaParts,
  withdrawal: Withdrawal,
  going: Going,
): Promise<boolean> {
  const came = await goOn(parts, withdrawal, going);
  if (came === 'frozen') await holdFrozen(parts.db, withdrawal);
  return came === 'gone';
}

class AccountFrozen extends Error {
  override readonly name = 'AccountFrozen';
}

/**
 * Runs in the commit after which the provider may be asked. It stops an account or a key that was frozen since, and a
 * later freeze waits for this commit. A release by the operator does not cover a freeze that came after it.
 */
export async function requireNotFrozen(tx: Transaction, withdrawal: Withdrawal): Promise<void> {
  const { status, chain } = withdrawal;
  await requireAccountNotFrozen(tx, withdrawal);
  await requireUnfrozenStep(tx, withdrawal, { step: status === 'sending' ? 'pay' : 'unwrap', chain });
}

export async function requireAccountNotFrozen(tx: Transaction, { id, accountId }: Withdrawal): Promise<void> {
  if (accountId !== null && (await isFrozen(tx, accountId))) throw new AccountFrozen(`the account of ${id} is frozen`);
}

const frozenMs = 60_000;

/**
 * Holds a withdrawal that a freeze of its account has stopped; a freeze of its key stops it for good. If the provider was asked before without success (usually for lack of
 * gas), the request may still be on its way, so the withdrawal waits and is not sent again until the account is
 * unfrozen.
 */
export async function holdIfFrozen(
  db: Database,
  withdrawal: Withdrawal,
  error: unknown,
): Promise<'held' | 'stopped' | Extract<StepProgress, { state: 'waiting' }>> {
  if (error instanceof KeyFrozen) return 'stopped';
  if (!(error instanceof AccountFrozen)) throw error;
  if (await holdFrozen(db, withdrawal)) return 'held';
  return { state: 'waiting', waitsFor: 'its account to be unfrozen', lookAgainInMs: frozenMs };
}

function holdFrozen(db: Database, withdrawal: Withdrawal): Promise<boolean> {
  return holdWithdrawal(db, withdrawal, { reason: 'the account is frozen', freeze: false });
}

/** Logged for the first held withdrawal only; the list shows the others. */
const hourIsFull =
  'withdrawals are held: the hourly limit WITHDRAWALS_PER_HOUR is reached; see "paywright withdrawals list"';

async function goOn(
  { db, perHour, logger }: WithdrawalSagaParts,
  withdrawal: Withdrawal,
  { to, step }: Going,
): Promise<'gone' | 'frozen' | 'held'> {
  const { id, accountId, status } = withdrawal;
  // The operator's own payouts have no limit.
  const limit = accountId === null || perHour === undefined ? undefined : { perHour, before: await readSentBefore(db) };
  return db.transaction(async (tx) => {
    if (limit !== undefined) await lockHourlyLimit(tx);
    // A withdrawal that is already unwrapped has counted against the hour, has left custody and cannot be cancelled.
    // One that the operator has released is exempt.
    const { isLimited } = onlyRow(
      await tx.query<{ isLimited: boolean }>(
        `SELECT status <> 'unwrapped' AND coalesce(let_go_at, limit_waived_at, released_at) IS NULL AS is_limited
           FROM withdrawals WHERE id = $1 FOR UPDATE`,
        [id],
      ),
    );
    if (accountId !== null && (await isFrozen(tx, accountId))) return 'frozen';
    if (limit !== undefined && isLimited && !(await fitsHourlyLimit(tx, { ...limit, value: worthOf(withdrawal) }))) {
      const reason = `the hourly limit of ${toDecimalText(amountOf('USDC', limit.perHour))} USDC is reached`;
      const held = await holdWithin(tx, withdrawal, { reason, freeze: false, by: 'hourly_limit' });
      if (held === undefined) return 'gone';
      // Logged before the commit: if the process crashed right after it, the next held withdrawal would not be the
      // first and nothing would be logged.
      if (held.isFirst) logger.error({ withdrawal: id }, hourIsFull);
      return 'held';
    }
    await tx.query(
      // It may have been held and released meanwhile. Then it has a new step, which waits in line.
      `UPDATE withdrawals SET status = $2, let_go_at = coalesce(let_go_at, clock_timestamp()), updated_at = now()
        WHERE id = $1 AND status = $3
          AND EXISTS (SELECT FROM chain_steps WHERE saga_id = $1 AND step = $4 AND state = 'ready')`,
      [id, to, status, step],
    );
    return 'gone';
  });
}

function worthOf({ value, gross }: Withdrawal): bigint {
  return value ?? faceValue(gross) ?? mostValue;
}

/** What the owner sees. Only the operator sees the reason. */
const toldOf: Readonly<Record<Holder, string>> = {
  screening: 'The operator is reviewing this withdrawal. Contact the operator.',
  freeze: 'The operator is reviewing this withdrawal. Contact the operator.',
  hourly_limit:
    'The service-wide hourly limit on outgoing payments is reached, so the operator has to release this withdrawal. You can cancel it.',
};

/** SQL: the withdrawal's native coin is unwrapped and in the treasury. */
export const isUnwrapped = `EXISTS (SELECT FROM chain_steps s
  WHERE s.saga_id = withdrawals.id AND s.step = 'unwrap' AND s.state = 'confirmed')`;

/** SQL: the withdrawal has moved on, but the provider was not asked for its step yet. */
const isUnasked = `status IN ('unwrapping', 'sending') AND EXISTS (SELECT FROM chain_steps s
  WHERE s.saga_id = withdrawals.id AND s.step = CASE status WHEN 'sending' THEN 'pay' ELSE 'unwrap' END AND s.state = 'ready')`;

interface Hold {
  /** For the operator. */
  readonly reason: string;
  /** Freeze the account too. */
  readonly freeze: boolean;
  readonly by?: Holder;
}

interface Held {
  /** No other withdrawal was held for the same reason within the last hour. Older ones that still wait do not count. */
  readonly isFirst: boolean;
}

/** Holds until the operator decides. False when the provider was already asked, or it was cancelled. */
export async function holdWithdrawal(db: Database, withdrawal: Withdrawal, hold: Hold): Promise<boolean> {
  return db.transaction(async (tx) => (await holdWithin(tx, withdrawal, hold)) !== undefined);
}

/** Runs inside the caller's transaction. Undefined when it can no longer be held. */
async function holdWithin(tx: Transaction, withdrawal: Withdrawal, hold: Hold): Promise<Held | undefined> {
  const { id, accountId } = withdrawal;
  const { reason, freeze, by = freeze ? 'screening' : 'freeze' } = hold;
  // Lock order: the withdrawal, then its owner, as when one is finished.
  const { rows } = await tx.query<{ unwrapped: boolean }>(
    `UPDATE withdrawals SET status = 'held', error = $2, held_because = $3, held_by = $4, let_go_at = NULL, updated_at = now()
      WHERE id = $1 AND (status IN ('queued', 'awaiting_liquidity', 'unwrapped') OR ${isUnasked})
      RETURNING ${isUnwrapped} AS unwrapped`,
    [id, toldOf[by], reason, by],
  );
  const [held] = rows;
  if (held === undefined) return undefined;
  // Dropping the step leaves the queue and frees the reserved tokens. Native coin that is already unwrapped stays in
  // the treasury.
  if (!held.unwrapped) await dropStep(tx, firstStep(withdrawal));
  if (freeze && accountId !== null) {
    await lockOwner(tx, accountId);
    const { rowCount } = await tx.query('UPDATE accounts SET frozen_at = now() WHERE id = $1 AND frozen_at IS NULL', [
      accountId,
    ]);
    if (rowCount === 1) await recordAudit(tx, { accountId, action: 'account.frozen', by: {}, note: reason });
    await announceAccountChange(tx, accountId);
  }
  await recordAudit(tx, {
    accountId,
    action: 'withdrawal.held',
    by: {},
    details: { withdrawalId: id, ...(by === 'hourly_limit' && { because: 'hourly_limit' }) },
    note: reason,
  });
  const { first } = onlyRow(
    await tx.query<{ first: boolean }>(
      `SELECT NOT EXISTS (
         SELECT FROM withdrawals WHERE finished_at IS NULL AND status = 'held' AND held_by = $2 AND id <> $1
            AND status_since > clock_timestamp() - interval '1 hour') AS first`,
      [id, by],
    ),
  );
  return { isFirst: first };
}
