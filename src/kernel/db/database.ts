import pg from 'pg';
import type { Logger } from '../log/logger.ts';
import { answerGraceMs, connectionSettings, type Limits } from './connection-settings.ts';
import { endPool } from './end.ts';
import { isReadTimeout, NoWritableHost, OutcomeUnknown, wasRejected } from './errors.ts';
import { openPool } from './pool.ts';
import { createSlots, DatabaseBusy } from './slots.ts';

/** Anything that runs SQL: the pool, or one open transaction. Functions that only query ask for this. */
export interface Queryable {
  query<Row extends pg.QueryResultRow>(text: string, values?: readonly unknown[]): Promise<pg.QueryResult<Row>>;
}

/** An open transaction. A function that asks for it is part of its caller's commit. */
export interface Transaction extends Queryable {
  readonly inTransaction: true;
}

export interface TransactionOptions {
  /** What it is about. No kind has more than half of the connections that transactions may take. */
  readonly kind?: string;
  /** More time than usual for each of its statements. */
  readonly statementMs?: number;
}

/** For transactions that read or write a whole table. */
export const longStatements = { kind: 'long', statementMs: 10 * 60_000 } as const satisfies TransactionOptions;

/**
 * For answers that only show what is there: lists, history, statements, reserves. It may be a standby (read-database.ts). Whatever
 * decides about money asks for the Database, which is the primary.
 */
export interface ReadDatabase extends Queryable {
  /** Several statements that see a single moment, whatever is posted meanwhile. The work may run twice. */
  atOneMoment<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
}

export interface Database extends ReadDatabase {
  /**
   * Runs the work in one transaction: commits what it returns, rolls back when it throws. Throws OutcomeUnknown when the
   * connection was lost while the commit was under way, and only then: after any other error nothing was written.
   * Between two statements it must not wait for anything but the database, which ends idle transactions.
   */
  transaction<Result>(work: (tx: Transaction) => Promise<Result>, options?: TransactionOptions): Promise<Result>;
  readonly pool: pg.Pool;
  close(): Promise<void>;
}

export interface DatabaseOptions {
  readonly url: string;
  readonly poolSize: number;
  readonly logger: Logger;
  readonly applicationName?: string;
  readonly limits?: Partial<Limits>;
}

/** Integers of any size become bigint. A query casts a numeric with a fraction to float8 or text: anything else fails here. */
export const types: pg.CustomTypesConfig = {
  getTypeParser(oid: number, format?: 'text' | 'binary') {
    const isInteger = oid === pg.types.builtins.INT8 || oid === pg.types.builtins.NUMERIC;
    return isInteger && format !== 'binary' ? BigInt : pg.types.getTypeParser(oid, format as 'text');
  },
};

const camelNames = new Map<string, string>();

/** The name that a column has in TypeScript: `burn_hash` is `burnHash`. */
function nameOf(column: string): string {
  let name = camelNames.get(column);
  if (name === undefined) {
    name = column.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());
    camelNames.set(column, name);
  }
  return name;
}

/** Rows come from the driver as arrays and become objects with camelCase names. Of several statements in one text the last counts. */
export function withNames<Row extends pg.QueryResultRow>(
  results: pg.QueryArrayResult | pg.QueryArrayResult[],
): pg.QueryResult<Row> {
  const result = [results].flat().at(-1) as pg.QueryArrayResult;
  const names = result.fields.map(({ name }) => nameOf(name));
  const rows = result.rows.map((values) => {
    const row: Record<string, unknown> = {};
    for (let index = 0; index < names.length; index += 1) row[names[index] as string] = values[index];
    return row as Row;
  });
  return Object.assign(result, { rows }) as unknown as pg.QueryResult<Row>;
}

/** How long a transaction waits for others to end before it is not begun at all. */
const slotPatienceMs = 10_000;

export function openDatabase({
  url,
  poolSize,
  logger,
  applicationName = 'paywright',
  limits,
}: DatabaseOptions): Database {
  const settings = connectionSettings({ url, applicationName, ...(limits && { limits }) });
  const pool = openPool({ ...settings, max: poolSize, types, idleTimeoutMillis: 60_000 }, (err) =>
    logger.warn({ err }, 'an idle database connection was lost'),
  );
  // A quarter is left to single statements, so that they find a connection whatever transactions wait for.
  const total = Math.max(1, Math.floor((poolSize * 3) / 4));
  const slots = createSlots({ total, perKind: Math.ceil(total / 2), patienceMs: slotPatienceMs });

  const transaction: Database['transaction'] = async (work, { kind = 'other', statementMs } = {}) => {
    const giveBack = await slots.take(kind);
    return inTransaction(pool, work, statementMs).finally(giveBack);
  };

  return {
    pool,
    query: (text, values) => runAlone(pool, text, values),
    transaction,
    atOneMoment: (work) =>
      transaction(async (tx) => {
        await tx.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
        return work(tx);
      }, longStatements),
    close: () => endPool(pool),
  };
}

/** One statement in a commit of its own. */
async function runAlone<Row extends pg.QueryResultRow>(
  pool: pg.Pool,
  text: string,
  values: readonly unknown[] | undefined,
): Promise<pg.QueryResult<Row>> {
  const client = await pool.connect();
  let lost: Error | undefined;
  try {
    return withNames<Row>(await client.query({ text, values: values as unknown[], rowMode: 'array' }));
  } catch (error) {
    if (wasRejected(error)) throw error;
    lost = error as Error;
    // A TypeError means that a value could not be encoded, so nothing was sent.
    throw mayWrite.test(text) && !(error instanceof TypeError) ? new OutcomeUnknown(error) : error;
  } finally {
    client.release(lost);
  }
}

/** A SELECT may call a function that wakes a job, which does no harm when it is asked for again. */
const mayWrite = /^\s*(INSERT|UPDATE|DELETE|MERGE)\b|^\s*WITH\b.*\b(INSERT INTO|UPDATE|DELETE FROM)\b/is;

async function inTransaction<Result>(
  pool: pg.Pool,
  work: (tx: Transaction) => Promise<Result>,
  statementMs: number | undefined,
): Promise<Result> {
  const client = await pool.connect();
  const line: { broken: Error | undefined } = { broken: undefined };
  // A connection that dies while no query is running reports it here, and must not go back to the pool.
  const onError = (error: Error) => {
    line.broken ??= error;
  };
  client.on('error', onError);
  const patience = statementMs === undefined ? {} : { query_timeout: statementMs + answerGraceMs };
  try {
    await client.query(statementMs === undefined ? 'BEGIN' : `BEGIN; SET LOCAL statement_timeout = ${statementMs}`);
    const result = await work({
      inTransaction: true,
      query: async (text, values) =>
        withNames(await client.query({ text, values: values as unknown[], rowMode: 'array', ...patience })),
    });
    // If the connection broke before COMMIT was sent, nothing was written.
    if (line.broken !== undefined) throw line.broken;
    await commit(client);
    return result;
  } catch (error) {
    if (error instanceof OutcomeUnknown || isReadTimeout(error)) line.broken ??= error as Error;
    else await client.query('ROLLBACK').catch(onError);
    throw error instanceof OutcomeUnknown ? error : (line.broken ?? error);
  } finally {
    client.off('error', onError);
    client.release(line.broken);
  }
}

async function commit(client: pg.PoolClient): Promise<void> {
  const { command } = await client.query('COMMIT').catch((error: unknown) => {
    throw wasRejected(error) ? error : new OutcomeUnknown(error);
  });
  // After an error that the work has swallowed, COMMIT rolls back and says so without failing.
  if (command !== 'COMMIT') throw new Error('the transaction was rolled back by an error within it');
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
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'EHOSTDOWN',
  'ENETUNREACH',
  'ENETDOWN',
  'ECONNABORTED',
  'EADDRNOTAVAIL',
]);

/**
 * Shutting down, connection trouble, out of room, a standby that only reads, a time limit, or a
 * conflict with another transaction: not the statement's fault, and nothing was written.
 */
const unavailableCodes = ['57P', '08', '53', '25006', '57014', '55P03', '25P03', '25P04', '40001', '40P01'];

/** Whether the database could not be reached or is going away, rather than having refused a statement. */
export function isUnavailable(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  if (error instanceof DatabaseBusy || error instanceof OutcomeUnknown || error instanceof NoWritableHost) return true;
  if (isReadTimeout(error)) return true;
  const code = (error as { code?: string }).code ?? '';
  if (error instanceof pg.DatabaseError) return unavailableCodes.some((start) => code.startsWith(start));
  return (
    networkCodes.has(code) ||
    /Connection terminated|not queryable|timeout exceeded when trying to connect|timeout expired|connection timeout/i.test(
      error.message,
    )
  );
}
