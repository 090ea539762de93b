import pg from 'pg';
import type { Logger } from '../logger.ts';

/** Anything that runs SQL: the pool, or one open transaction. Functions that only query ask for this. */
export interface Queryable {
  query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<pg.QueryResult<Row>>;
}

/** An open transaction. A function that asks for it must be part of somebody's commit. */
export interface Transaction extends Queryable {
  readonly inTransaction: true;
}

export interface Database extends Queryable {
  /** Runs the work in one transaction: commits what it returns, rolls back when it throws. */
  transaction<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
  readonly pool: pg.Pool;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly poolSize: number;
  readonly logger: Logger;
  /** Shows up in pg_stat_activity, so that an operator sees whose connection it is. */
  readonly applicationName?: string;
  /** A statement that takes longer is ended by the database itself, and has done nothing. */
  readonly statementTimeoutMs?: number;
}

/** bigint columns become bigint, here and nowhere else. */
const types: pg.CustomTypesConfig = {
  getTypeParser: (oid: number, format?: 'text' | 'binary') =>
    oid === pg.types.builtins.INT8 && format !== 'binary' ? BigInt : pg.types.getTypeParser(oid, format as 'text'),
};

export function openDatabase({
  url,
  poolSize,
  logger,
  applicationName = 'paywright',
  statementTimeoutMs,
}: DatabaseOptions): Database {
  const pool = new pg.Pool({
    connectionString: url,
    max: poolSize,
    types,
    application_name: applicationName,
    connectionTimeoutMillis: 10_000,
    idleTimeoutMillis: 60_000,
    ...(statementTimeoutMs !== undefined && {
      statement_timeout: statementTimeoutMs,
      // Of a process that is gone nothing should be finished: the database looks whether anybody still waits.
      options: '-c client_connection_check_interval=1000',
    }),
  });
  // A connection that breaks is replaced by the pool; without these listeners it would end the process.
  pool.on('error', (err) => {
    // A pool that is closing does not wait for its connections to be gone, and need not mourn them.
    if (!pool.ending) logger.warn({ err }, 'an idle database connection was lost');
  });
  pool.on('connect', (client) => client.on('error', () => {}));

  return {
    pool,
    query: (text, values) => pool.query(text, values as unknown[]),
    transaction: (work) => inTransaction(pool, work),
    close: () => pool.end(),
  };
}

async function inTransaction<Result>(pool: pg.Pool, work: (tx: Transaction) => Promise<Result>): Promise<Result> {
  const client = await pool.connect();
  let broken: Error | undefined;
  // A connection that dies while no query is running reports it here, and must not go back to the pool.
  const onError = (error: Error) => {
    broken = error;
  };
  client.on('error', onError);
  try {
    await client.query('BEGIN');
    const result = await work({
      inTransaction: true,
      query: (text, values) => client.query(text, values as unknown[]),
    });
    const { command } = await client.query('COMMIT');
    // After an error that somebody swallowed, COMMIT rolls back and says so without failing.
    if (command !== 'COMMIT') throw new Error('the transaction was rolled back by an error within it');
    return result;
  } catch (error) {
    await client.query('ROLLBACK').catch((rollbackError: Error) => {
      broken ??= rollbackError;
    });
    throw broken ?? error;
  } finally {
    client.off('error', onError);
    client.release(broken);
  }
}

/** The single row of a query that cannot return anything else. */
export function onlyRow<Row extends pg.QueryResultRow>(result: pg.QueryResult<Row>): Row {
  const [row] = result.rows;
  if (row === undefined || result.rows.length > 1) throw new Error(`expected one row, got ${result.rows.length}`);
  return row;
}

/** Whether a statement was refused by the named unique constraint. */
export function violates(error: unknown, constraint: string): boolean {
  return error instanceof pg.DatabaseError && error.code === '23505' && error.constraint === constraint;
}

const networkCodes = new Set([
  'ECONNREFUSED',
  'ECONNRESET',
  'ENOENT',
  'EPIPE',
  'ETIMEDOUT',
  'ENOTFOUND',
  'EHOSTUNREACH',
]);

/** Shutting down, connection trouble, out of room, or a standby that only reads: not the statement's fault. */
const unavailableCodes = ['57P', '08', '53', '25006'];

/** Whether the database could not be reached or is going away, rather than having refused a statement. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const code = (error as { code?: string }).code ?? '';
  if (error instanceof pg.DatabaseError) return unavailableCodes.some((start) => code.startsWith(start));
  return (
    networkCodes.has(code) ||
    /Connection terminated|not queryable|timeout exceeded when trying to connect|connection timeout/i.test(
      error.message,
    )
  );
}
