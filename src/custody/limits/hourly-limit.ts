import { type Database, onlyRow, type Queryable, type Transaction } from '../../kernel/db/database.ts';
import { lockUntilCommit } from '../../kernel/db/locks.ts';
import { leftBetween } from './sent-outside.ts';

/** What all accounts sent within the last hour, in millionths of a USDC. */
export async function readLeftWithinHour(db: Queryable): Promise<bigint> {
  return readLeft(db, {});
}

/**
 * Serializes releases of money, so that two do not use the same room below the limit. Taken before any row lock: a
 * transaction that holds a row lock never waits for it.
 */
export async function lockHour(tx: Transaction): Promise<void> {
  await lockUntilCommit(tx, 'hourlyLimit');
}

/** The hour's total as of a moment in the last minutes. It only shrinks, as payments age or fail. */
export interface LeftBefore {
  /** Text, to keep the database's full precision. */
  readonly moment: string;
  readonly value: bigint;
}

/** In milliseconds. */
const knownForMs = 30_000;

const known = new WeakMap<Database, { readonly readAt: number; readonly before: Promise<LeftBefore> }>();

/**
 * Read before taking the lock: an hour may hold a hundred thousand payments to sellers, and summing them under the lock
 * would block all others. One read serves everyone for some seconds.
 */
export async function readLeftBefore(db: Database): Promise<LeftBefore> {
  const last = known.get(db);
  if (last !== undefined && performance.now() - last.readAt < knownForMs) return last.before;
  const before = addUp(db);
  known.set(db, { readAt: performance.now(), before });
  before.catch(() => known.delete(db));
  return before;
}

/** As of a minute ago: payments of that time are committed, because the lock is never held that long. */
async function addUp(db: Database): Promise<LeftBefore> {
  const { moment } = onlyRow(
    await db.query<{ moment: string }>("SELECT (clock_timestamp() - interval '1 minute')::text AS moment"),
  );
  return { moment, value: await readLeft(db, { until: moment }) };
}

interface Wish {
  readonly perHour: bigint;
  readonly value: bigint;
  readonly before: LeftBefore;
}

/**
 * Whether the amount fits below the hourly limit. Call it under the lock. Everything is summed up again only when the
 * earlier total leaves doubt.
 */
export async function fitsIntoHour(tx: Transaction, { perHour, value, before }: Wish): Promise<boolean> {
  const since = await readLeft(tx, { after: before.moment });
  if (before.value + since + value <= perHour) return true;
  return (await readLeftWithinHour(tx)) + value <= perHour;
}

interface Span {
  /** Default: an hour ago. */
  readonly after?: string;
  /** Default: now. */
  readonly until?: string;
}

async function readLeft(db: Queryable, { after, until = 'infinity' }: Span): Promise<bigint> {
  return onlyRow(await db.query<{ value: bigint }>(leftBetween, [after ?? null, until])).value;
}
