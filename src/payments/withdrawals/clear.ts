import { isFrozen } from '../../accounts/is-frozen.ts';
import { fitsIntoHour, lockHour, readLeftBefore } from '../../custody/limits/hourly-limit.ts';
import { faceValue, mostValue } from '../../custody/limits/value-limits.ts';
import type { StepProgress } from '../../custody/steps/take-step.ts';
import { type Database, onlyRow, type Transaction } from '../../kernel/db/database.ts';
import { amountOf, toDecimalText } from '../../money/amount.ts';
import { holdWithdrawal, holdWithin } from './hold-withdrawal.ts';
import type { WithdrawalSagaParts } from './parts.ts';
import type { WithdrawalStatus } from './saga.ts';
import type { Withdrawal } from './withdrawal.ts';

/** Asks the screening. After a hit the withdrawal waits for a person, and its account can send nothing more. */
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
      ? `a withdrawal is held and its account frozen: ${verdict.reason}`
      : `a withdrawal was over or on its way when the screening found something: ${verdict.reason}`,
  );
  return true;
}

interface Going {
  readonly to: WithdrawalStatus;
  /** The step that comes next. */
  readonly step: string;
}

/**
 * Goes on to where only the chain or the provider stops it. False when its account is frozen, or when more would leave within the
 * hour than may: then it waits for a person.
 */
export async function goOnUnlessStopped(
  parts: WithdrawalSagaParts,
  withdrawal: Withdrawal,
  going: Going,
): Promise<boolean> {
  const came = await goOn(parts, withdrawal, going);
  if (came === 'frozen') await holdFrozen(parts.db, withdrawal);
  return came === 'gone';
}

/** Its account was frozen before the provider has taken anything. */
class AccountFrozen extends Error {
  override readonly name = 'AccountFrozen';
}

/**
 * Part of the commit after which the provider may be asked: whoever was frozen since it went on is stopped here, and a freeze
 * that comes later waits for this commit. A person's release says nothing about a freeze that came after it.
 */
export async function requireNotFrozen(tx: Transaction, { id, accountId }: Withdrawal): Promise<void> {
  if (accountId !== null && (await isFrozen(tx, accountId))) throw new AccountFrozen(`the account of ${id} is frozen`);
}

const frozenMs = 60_000;

/**
 * For what a step throws: what was stopped by a freeze waits for a person. What was asked for before and not taken, for want of gas
 * as a rule, is not asked for again until the account is let go; whether a request is still on its way nobody knows for certain.
 */
export async function holdIfFrozen(
  db: Database,
  withdrawal: Withdrawal,
  error: unknown,
): Promise<'held' | Extract<StepProgress, { state: 'waiting' }>> {
  if (!(error instanceof AccountFrozen)) throw error;
  if (await holdFrozen(db, withdrawal)) return 'held';
  return { state: 'waiting', waitsFor: 'its account to be unfrozen', lookAgainInMs: frozenMs };
}

function holdFrozen(db: Database, withdrawal: Withdrawal): Promise<boolean> {
  return holdWithdrawal(db, withdrawal, { reason: 'the account is frozen', freeze: false });
}

/** Once for all that wait: the operator finds the others in the list. */
const hourIsFull =
  'withdrawals are held: more would leave within an hour than WITHDRAWALS_PER_HOUR allows; look at "paywright withdrawals list"';

async function goOn(
  { db, perHour, logger }: WithdrawalSagaParts,
  withdrawal: Withdrawal,
  { to, step }: Going,
): Promise<'gone' | 'frozen' | 'held'> {
  const { id, accountId, status } = withdrawal;
  // What the operator pays out is his own.
  const limit = accountId === null || perHour === undefined ? undefined : { perHour, before: await readLeftBefore(db) };
  return db.transaction(async (tx) => {
    if (limit !== undefined) await lockHour(tx);
    // What was let go before, to be unwrapped, has its place in the hour already: it has left custody, and cannot be
    // called back. What the operator has released needs none.
    const { isLimited } = onlyRow(
      await tx.query<{ isLimited: boolean }>(
        `SELECT status <> 'unwrapped' AND coalesce(let_go_at, limit_waived_at, released_at) IS NULL AS "isLimited"
           FROM withdrawals WHERE id = $1 FOR UPDATE`,
        [id],
      ),
    );
    if (accountId !== null && (await isFrozen(tx, accountId))) return 'frozen';
    if (limit !== undefined && isLimited && !(await fitsIntoHour(tx, { ...limit, value: worthOf(withdrawal) }))) {
      const reason = `more than ${toDecimalText(amountOf('USDC', limit.perHour))} USDC would leave within an hour`;
      const held = await holdWithin(tx, withdrawal, { reason, freeze: false, by: 'hourly_limit' });
      if (held === undefined) return 'gone';
      // Before the commit: were it told after it, nobody would tell if this process ended in between, for the next is not the first.
      if (held.isFirst) logger.error({ withdrawal: id }, hourIsFull);
      return 'held';
    }
    await tx.query(
      // It may have been held and let go meanwhile: then its step is another one, and waits in line.
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
