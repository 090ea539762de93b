import type pg from 'pg';
import type { Queryable, Transaction } from './database.ts';

/** All advisory locks of the service. No other file takes one, so two features can never collide on a number. */
export const lockNumbers = {
  migrations: 4_028_402,
  sandboxSecret: 4_028_403,
  sandboxChainTables: 4_028_404,
  /** Its holder runs the chains of this sandbox. */
  sandboxChains: 4_028_405,
  reserveSnapshots: 4_028_406,
  walletPool: 4_028_407,
  /** Its holder moves a month of the ledger to a file. */
  ledgerArchive: 4_028_408,
  /** Its holder chains decision records, signs a root over them or begins to anchor one. */
  decisions: 4_028_409,
  /** Its holder publishes to the feeds of accounts. */
  eventFeeds: 4_028_410,
  /** Outgoing payments within an hour. */
  hourlyLimit: 4_028_412,
} as const;

/** Locks that exist once per named thing. The prefix keeps the kinds apart. */
export const lockKinds = {
  idempotencyKey: 'idempotency',
  /** Mints of the sandbox on one chain. */
  mint: 'mint',
  /** The available amount of one float. */
  float: 'float',
  keyTransaction: 'key transaction',
  /** An account's payments that are not to repeat one another. */
  guardedPayments: 'purchases',
  /** One chain and asset. */
  liquidity: 'liquidity',
  unsweptWallets: 'unswept wallets',
  /** Amounts credited on a chain that only one node has confirmed. */
  oneNode: 'one node',
  /** One chain other than the home chain. */
  crossChainWallets: 'cross-chain wallets',
  /** An account's payments to outside addresses, and its allow-list. */
  sentOutside: 'sent outside',
  /** The fingerprint of the secret that a process seals with. */
  secretInUse: 'secret in use',
} as const;

export type Lock = keyof typeof lockNumbers | { readonly kind: keyof typeof lockKinds; readonly of: string };

/** Waits for the lock and holds it until the transaction ends. */
export async function lockUntilCommit(tx: Transaction, lock: Lock): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock(${expression(lock)})`, [value(lock)]);
}

/** Shares the lock with other shared holders; excludes exclusive ones. */
export async function shareUntilCommit(tx: Transaction, lock: Lock): Promise<void> {
  await tx.query(`SELECT pg_advisory_xact_lock_shared(${expression(lock)})`, [value(lock)]);
}

/** Returns false when another transaction holds the lock. */
export async function tryLockUntilCommit(tx: Transaction, lock: Lock): Promise<boolean> {
  return isTaken(
    await tx.query<Taken>(`SELECT pg_try_advisory_xact_lock(${expression(lock)}) AS taken`, [value(lock)]),
  );
}

/** Holds the lock until the session ends. */
export async function tryHoldLock(session: Session, lock: Lock): Promise<boolean> {
  return isTaken(
    await session.query<Taken>(`SELECT pg_try_advisory_lock(${expression(lock)}) AS taken`, [value(lock)]),
  );
}

export async function tryShareLock(session: Session, lock: Lock): Promise<boolean> {
  const sql = `SELECT pg_try_advisory_lock_shared(${expression(lock)}) AS taken`;
  return isTaken(await session.query<Taken>(sql, [value(lock)]));
}

/** The backend pids that hold the lock, exclusively or shared. */
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

/** A dedicated connection. */
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
