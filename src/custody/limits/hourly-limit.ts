import { type Database, onlyRow, type Queryable, type Transaction } from '../../kernel/db/database.ts';
import { lockUntilCommit } from '../../kernel/db/locks.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { amountOf, toDecimalText, toJsonNumber } from '../../money/amount.ts';
import { limitErrors } from './errors.ts';
import type { OutgoingLimits } from './outgoing-limits.ts';

/** What an account has sent outside within 24 hours, in millionths of a USDC. An undefined limit means none. */
export async function readDailyUse(db: Queryable, { perDay }: OutgoingLimits, accountId: bigint) {
  const { tier, used } = onlyRow(
    await db.query<{ tier: Caller['tier']; used: bigint }>(
      `SELECT tier, (SELECT coalesce(sum(value), 0) FROM (${sentWithinDay}) sent) AS used FROM accounts WHERE id = $1`,
      [accountId],
    ),
  );
  const limit = perDay[tier];
  const left = limit === undefined ? undefined : limit - used;
  return { limit, used, left: left === undefined || left > 0n ? left : 0n };
}

/**
 * When the limit has room for `missing` more, as earlier payments become older than a day. Undefined: not within a day.
 */
export async function findRoom(db: Queryable, accountId: bigint, missing: bigint): Promise<Date | undefined> {
  const { rows } = await db.query<{ at: Date | null }>(
    `SELECT min(created_at) + interval '24 hours' AS at
       FROM (SELECT created_at, sum(value) OVER (ORDER BY created_at) AS freed FROM (${sentWithinDay}) sent) aging
      WHERE freed >= $2`,
    [accountId, missing],
  );
  return rows[0]?.at ?? undefined;
}

/** Part of the commit that sends the money, under the account's lock, so that concurrent payments count each other. */
export async function refuseBeyondDailyLimit(
  tx: Queryable,
  brakes: OutgoingLimits,
  { accountId, value }: { readonly accountId: bigint; readonly value: bigint },
): Promise<void> {
  const { limit, used, left } = await readDailyUse(tx, brakes, accountId);
  if (limit === undefined || left === undefined || value <= left) return;
  const room = value > limit ? undefined : await findRoom(tx, accountId, used + value - limit);
  const when =
    room === undefined
      ? 'It exceeds the limit of a whole day: send less.'
      : `Try again at ${room.toISOString()}, when earlier payments no longer count.`;
  throw limitErrors.daily_limit_reached(
    `This payment is worth ${text(value)} USDC, but only ${text(left)} of the 24-hour limit of ${text(limit)} USDC are left. ${when}`,
    {
      members: {
        limit: number(limit),
        used: number(used),
        left: number(left),
        currency: 'USDC',
        roomAt: room?.toISOString() ?? null,
      },
    },
  );
}

function text(value: bigint): string {
  return toDecimalText(amountOf('USDC', value));
}

function number(value: bigint): number {
  return toJsonNumber(amountOf('USDC', value));
}

/**
 * SQL: what account $1 sent to outside addresses within a day, with value and time. Failed and returned payments do not
 * count. A caller may choose the address of a seller, so payments to sellers count like withdrawals.
 */
const sentWithinDay = `
  SELECT created_at, value FROM withdrawals
   WHERE account_id = $1 AND created_at > now() - interval '24 hours' AND status NOT IN ('failed', 'cancelled')
  UNION ALL
  SELECT created_at, amount AS value FROM purchases
   WHERE account_id = $1 AND created_at > now() - interval '24 hours' AND status <> 'returned'`;

/**
 * SQL: what all accounts sent after $1 (or within an hour if null) up to $2. The operator's own payouts do not count.
 */
const sentBetween = `
  SELECT coalesce(sum(value), 0) AS value FROM (
    SELECT value FROM withdrawals
     WHERE let_go_at > coalesce($1::timestamptz, now() - interval '1 hour') AND let_go_at <= $2::timestamptz
       AND account_id IS NOT NULL AND status NOT IN ('failed', 'cancelled')
    UNION ALL
    SELECT amount AS value FROM purchases
     WHERE created_at > coalesce($1::timestamptz, now() - interval '1 hour') AND created_at <= $2::timestamptz
       AND status <> 'returned') sent`;

/** What all accounts sent within the last hour, in millionths of a USDC. */
export async function readSentWithinHour(db: Queryable): Promise<bigint> {
  return readLeft(db, {});
}

/**
 * Serializes releases of money, so that two do not use the same room below the limit. Taken before any row lock: a
 * transaction that holds a row lock never waits for it.
 */
export async function lockHourlyLimit(tx: Transaction): Promise<void> {
  await lockUntilCommit(tx, 'hourlyLimit');
}

/** The hour's total as of a moment in the last minutes. It only shrinks, as payments age or fail. */
export interface SentBefore {
  /** Text, to keep the database's full precision. */
  readonly moment: string;
  readonly value: bigint;
}

const knownForMs = 30_000;

const known = new WeakMap<Database, { readonly readAt: number; readonly before: Promise<SentBefore> }>();

/**
 * Read before taking the lock: an hour may hold a hundred thousand payments to sellers, and summing them under the lock
 * would block all others. One read serves everyone for some seconds.
 */
export async function readSentBefore(db: Database): Promise<SentBefore> {
  const last = known.get(db);
  if (last !== undefined && performance.now() - last.readAt < knownForMs) return last.before;
  const before = addUp(db);
  known.set(db, { readAt: performance.now(), before });
  before.catch(() => known.delete(db));
  return before;
}

/** As of a minute ago: payments of that time are committed, because the lock is never held that long. */
async function addUp(db: Database): Promise<SentBefore> {
  const { moment } = onlyRow(
    await db.query<{ moment: string }>("SELECT (clock_timestamp() - interval '1 minute')::text AS moment"),
  );
  return { moment, value: await readLeft(db, { until: moment }) };
}

/**
 * Whether the amount fits below the hourly limit. Call it under the lock. Everything is summed up again only when the
 * earlier total leaves doubt.
 */
export async function fitsHourlyLimit(
  tx: Transaction,
  { perHour, value, before }: { readonly perHour: bigint; readonly value: bigint; readonly before: SentBefore },
): Promise<boolean> {
  const since = await readLeft(tx, { after: before.moment });
  if (before.value + since + value <= perHour) return true;
  return (await readSentWithinHour(tx)) + value <= perHour;
}

async function readLeft(db: Queryable, span: { readonly after?: string; readonly until?: string }): Promise<bigint> {
  const { after, until = 'infinity' } = span;
  return onlyRow(await db.query<{ value: bigint }>(sentBetween, [after ?? null, until])).value;
}
