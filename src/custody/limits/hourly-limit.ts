import { type Database, onlyRow, type Queryable, type Transaction } from '../../kernel/db/database.ts';
import { lockUntilCommit } from '../../kernel/db/locks.ts';
import { leftBetween } from './sent-outside.ts';

/** What has left within the last hour, of all accounts, in millionths of a USDC. */
export async function readLeftWithinHour(db: Queryable): Promise<bigint> {
  return readLeft(db, {});
}

/**
 * Whoever lets something go waits for the others until they have committed, so that two at once do not both find the same room.
 * It comes before every lock on a row: whoever has one of those never waits for this.
 */
export async function lockHour(tx: Transaction): Promise<void> {
  await lockUntilCommit(tx, 'hourlyLimit');
}

/** What had left by some moment of the last minutes. It only ever becomes less, as it grows old or comes back. */
export interface LeftBefore {
  /** As text, which is as exact as the database is. */
  readonly moment: string;
  readonly value: bigint;
}

/** How long it is good for, in milliseconds. */
const knownForMs = 30_000;

const known = new WeakMap<Database, { readonly readAt: number; readonly before: Promise<LeftBefore> }>();

/**
 * To be asked for before the lock: an hour may hold a hundred thousand payments to sellers, and whoever added them all up under the
 * lock would keep everybody waiting. Read once for all who ask within some seconds.
 */
export async function readLeftBefore(db: Database): Promise<LeftBefore> {
  const last = known.get(db);
  if (last !== undefined && performance.now() - last.readAt < knownForMs) return last.before;
  const before = addUp(db);
  known.set(db, { readAt: performance.now(), before });
  before.catch(() => known.delete(db));
  return before;
}

/** A minute ago: what has left then is committed by now, for nobody has the lock for that long. */
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

/** Whether so much more may leave within this hour. Under the lock. Only where that is in doubt everything is added up again. */
export async function fitsIntoHour(tx: Transaction, { perHour, value, before }: Wish): Promise<boolean> {
  const since = await readLeft(tx, { after: before.moment });
  if (before.value + since + value <= perHour) return true;
  return (await readLeftWithinHour(tx)) + value <= perHour;
}

interface Span {
  /** An hour ago, if not said otherwise. */
  readonly after?: string;
  /** Now, if not said otherwise. */
  readonly until?: string;
}

async function readLeft(db: Queryable, { after, until = 'infinity' }: Span): Promise<bigint> {
  return BigInt(onlyRow(await db.query<{ value: string }>(leftBetween, [after ?? null, until])).value);
}
