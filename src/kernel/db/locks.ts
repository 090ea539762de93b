import type pg from 'pg';
import type { Queryable, Transaction } from './database.ts';

/**
 * Every advisory lock of the service: no other file asks PostgreSQL for one, so that no two parts can ever wait for each other over
 * a number that both have made up. What is locked as a whole has a number here.
 */
export const lockNumbers = {
  migrations: 4_028_402,
  sandboxSecret: 4_028_403,
  sandboxChainTables: 4_028_404,
  /** Whoever holds it runs the chains of this sandbox. */
  sandboxChains: 4_028_405,
  reserveSnapshots: 4_028_406,
  walletPool: 4_028_407,
  /** What leaves the service within an hour. */
  hourlyLimit: 4_028_412,
} as const;

/** Of these there is a lock for each thing that somebody names. The words keep those of one kind apart from all others. */
export const lockKinds = {
  /** An account's Idempotency-Key. */
  idempotencyKey: 'idempotency',
  /** What the sandbox mints on a chain. */
  mint: 'mint',
  /** What is free of a float. */
  float: 'float',
  keyTransaction: 'key transaction',
  /** Of an account, at shops. */
  purchases: 'purchases',
  /** A chain and an asset. */
  liquidity: 'liquidity',
  unsweptWallets: 'unswept wallets',
  /** What was credited on a chain by the word of one node. */
  oneNode: 'one node',
  /** A chain other than the home chain. */
  crossChainWallets: 'cross-chain wallets',
  /** What an account sends to addresses outside, and where it may. */
  sentOutside: 'sent outside',
  /** The operator's secret that a process seals with, by its fingerprint. */
  secretInUse: 'secret in use',
} as const;

export type Lock = keyof typeof lockNumbers | { readonly kind: keyof typeof lockKinds; readonly of: string };

/** Waits until it is free. Whoever has it lets go with the end of the transaction. */
export async function lockUntilCommit(tx: Transaction, lock: Lock): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(${expression(lock)})`, [value(lock)]);
}

/** Together with others who share it, and with nobody who wants it alone. */
export async function shareUntilCommit(tx: Transaction, lock: Lock): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock_shared(${expression(lock)})`, [value(lock)]);
}

/** False when somebody else has it. */
export async function tryLockUntilCommit(tx: Transaction, lock: Lock): Promise<boolean> {
  return isTaken(
    await tx.query<Taken>(`SELECT pg_try_advisory_xact_lock(${expression(lock)}) AS taken`, [value(lock)]),
  );
}

/** Until the session ends, however it does. */
export async function tryHoldLock(session: Session, lock: Lock): Promise<boolean> {
  return isTaken(
    await session.query<Taken>(`SELECT pg_try_advisory_lock(${expression(lock)}) AS taken`, [value(lock)]),
  );
}

export async function tryShareLock(session: Session, lock: Lock): Promise<boolean> {
  const sql = `SELECT pg_try_advisory_lock_shared(${expression(lock)}) AS taken`;
  return isTaken(await session.query<Taken>(sql, [value(lock)]));
}

/** The process numbers of the sessions that have it, alone or together. */
export async function holdersOf(db: Queryable, lock: Lock): Promise<readonly number[]> {
  const { rows } = await db.query<{ pid: number }>(
    `SELECT pid FROM pg_locks
      WHERE locktype = 'advisory' AND granted AND objsubid = 1
        AND (classid::bigint << 32) | objid::bigint = ${expression(lock)}
        AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`,
    [value(lock)],
  );
  return rows.map(({ pid }) => pid);
}

/** A connection that is nobody else's. */
type Session = Pick<pg.ClientBase, 'query'>;

interface Taken extends pg.QueryResultRow {
  readonly taken: boolean;
}

function isTaken({ rows }: pg.QueryResult<Taken>): boolean {
  return rows[0]?.taken === true;
}

function expression(lock: Lock): string {
  return typeof lock === 'string' ? '$1::bigint' : 'hashtextextended($1, 0)';
}

function value(lock: Lock): string {
  return typeof lock === 'string' ? String(lockNumbers[lock]) : `${lockKinds[lock.kind]} ${lock.of}`;
}
