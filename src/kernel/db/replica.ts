import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import type { Logger } from '../log/logger.ts';
import { answerGraceMs, connectionSettings, newClient } from './connection-settings.ts';
import { longStatements, type Queryable, type Transaction, types, withNames } from './database.ts';
import { endPool } from './end.ts';
import { wasRejected } from './errors.ts';
import { openPool } from './pool.ts';
import type { Position, Positions } from './position.ts';

export interface ReplicaTimes {
  /** How long a read waits for the replica to catch up. */
  readonly patienceMs: number;
  /** How often a replica that is skipped is looked at. */
  readonly lookEveryMs: number;
  /** How long a look waits for any answer, and how long a read may take before the replica is looked at. */
  readonly silenceMs: number;
}

const usualTimes: ReplicaTimes = { patienceMs: 250, lookEveryMs: 1_000, silenceMs: 1_000 };

/** The replica cannot be read now. */
export class Behind extends Error {
  override readonly name = 'Behind';
}

interface ReplicaOptions {
  /** Of one host. */
  readonly url: string;
  readonly name: string;
  readonly poolSize: number;
  readonly positions: Positions;
  readonly logger: Logger;
  readonly times?: Partial<ReplicaTimes>;
}

export interface Replica extends Queryable {
  readonly name: string;
  readonly isUsable: boolean;
  readonly pool: pg.Pool;
  atOneMoment<Result>(work: (tx: Transaction) => Promise<Result>): Promise<Result>;
  close(): Promise<void>;
}

/** An attempt to catch up, and what it waits for. */
interface Attempt {
  /** The caller no longer waits. */
  isLate: boolean;
  why: 'it does not answer' | 'the primary does not tell its position' | Lack;
}

type Lack = 'it lags' | 'it is no standby' | 'it does not share the history of the primary';

/**
 * One host of DATABASE_READ_URL. Each read checks the position in the transaction that it uses, because the next connection, or
 * behind a pooler the next transaction, may be one of another server.
 */
export function openReplica({ url, name, poolSize, positions, logger, times }: ReplicaOptions): Replica {
  const { patienceMs, lookEveryMs, silenceMs } = { ...usualTimes, ...times };
  const options = { url, applicationName: 'paywright-reads' };
  const pool = openPool({ ...connectionSettings(options), max: poolSize, types, idleTimeoutMillis: 60_000 }, (err) =>
    logger.warn({ err, replica: name }, 'an idle connection to a read replica was lost'),
  );
  let isUsable = false;
  let isClosed = false;
  let looking: Promise<void> | undefined;
  let nextLook: NodeJS.Timeout | undefined;
  /** Each ends a read that is under way, once the replica has fallen silent. */
  const underWay = new Set<(error: unknown) => void>();

  /** A connection in a transaction that sees at least everything that was committed before this call. */
  async function takeClient(): Promise<pg.PoolClient> {
    const attempt: Attempt = { isLate: false, why: 'it does not answer' };
    const taking = takeCaughtUp(attempt, positions.ask());
    let timer: NodeJS.Timeout | undefined;
    const late = new Promise<never>((_resolve, reject) => {
      timer = setTimeout(() => {
        attempt.isLate = true;
        reject(new Behind(attempt.why));
      }, patienceMs);
    });
    try {
      return await Promise.race([taking, late]);
    } catch (error) {
      skip(attempt.why, error);
      throw error instanceof Behind ? error : new Behind(attempt.why, { cause: error });
    } finally {
      clearTimeout(timer);
    }
  }

  async function takeCaughtUp(attempt: Attempt, asked: Promise<Position>): Promise<pg.PoolClient> {
    // A connection that cannot be opened ends the attempt first.
    asked.catch(() => {});
    const client = await pool.connect();
    try {
      await catchUp(client, { attempt, asked, known: positions.newest });
      // Nobody would give it back.
      if (attempt.isLate) throw new Behind('it lags');
      return client;
    } catch (error) {
      client.release(error as Error);
      throw error;
    }
  }

  async function run<Result>(work: (client: pg.PoolClient) => Promise<Result>): Promise<Result> {
    const client = await takeClient();
    const suspicion = setInterval(() => void look(), silenceMs);
    let giveUp: (error: unknown) => void = () => {};
    const silence = new Promise<never>((_resolve, reject) => {
      giveUp = reject;
    });
    underWay.add(giveUp);
    try {
      const result = await Promise.race([work(client), silence]);
      // The caller need not wait for the end of a transaction that has changed nothing.
      end(client, 'COMMIT');
      return result;
    } catch (error) {
      if (wasRejected(error)) end(client, 'ROLLBACK');
      else client.release(error as Error);
      throw error;
    } finally {
      clearInterval(suspicion);
      underWay.delete(giveUp);
    }
  }

  function skip(why: Attempt['why'], err: unknown): void {
    if (isClosed) return;
    if (isUsable) logger.warn({ replica: name, why, err }, 'a read replica is skipped: reads go to the primary');
    isUsable = false;
    nextLook ??= setTimeout(() => {
      nextLook = undefined;
      void look();
    }, lookEveryMs).unref();
  }

  /** One at a time, on a connection of its own: those of the pool may all be busy, or broken. */
  function look(): Promise<void> {
    looking ??= lookNow().finally(() => {
      looking = undefined;
    });
    return looking;
  }

  async function lookNow(): Promise<void> {
    clearTimeout(nextLook);
    nextLook = undefined;
    if (isClosed) return;
    const attempt: Attempt = { isLate: false, why: 'it does not answer' };
    const client = newClient(options, { types, connectionTimeoutMillis: silenceMs, query_timeout: silenceMs });
    const timer = setTimeout(() => {
      attempt.isLate = true;
    }, patienceMs);
    try {
      await client.connect();
      await catchUp(client, { attempt, asked: positions.ask(), known: undefined });
      if (!isUsable && !isClosed) logger.info({ replica: name }, 'reads go to the read replica');
      isUsable = !isClosed;
    } catch (error) {
      skip(attempt.why, error);
      if (attempt.why === 'it does not answer') for (const giveUp of underWay) giveUp(error);
    } finally {
      clearTimeout(timer);
      client.end().catch(() => {});
    }
  }

  void look();

  return {
    name,
    pool,
    get isUsable() {
      return isUsable;
    },
    query: (text, values) => run((client) => statement(client, { text, values })),
    atOneMoment: (work) => run((client) => workAtOneMoment(client, work)),
    async close() {
      isClosed = true;
      isUsable = false;
      clearTimeout(nextLook);
      await looking;
      await endPool(pool);
    },
  };
}

interface Statement {
  readonly text: string;
  readonly values?: readonly unknown[] | undefined;
  readonly query_timeout?: number;
}

async function statement<Row extends pg.QueryResultRow>(
  client: pg.ClientBase,
  { values, ...rest }: Statement,
): Promise<pg.QueryResult<Row>> {
  return withNames<Row>(await client.query({ ...rest, values: values as unknown[], rowMode: 'array' }));
}

/**
 * The position was checked in another transaction, because the snapshot of this one is taken before its first statement can look at
 * the position. Both are in one message, so a pooler sends them to the same server.
 */
async function workAtOneMoment<Result>(
  client: pg.ClientBase,
  work: (tx: Transaction) => Promise<Result>,
): Promise<Result> {
  const { statementMs } = longStatements;
  await client.query(
    `COMMIT; BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; SET LOCAL statement_timeout = ${statementMs}`,
  );
  const patience = { query_timeout: statementMs + answerGraceMs };
  return work({
    inTransaction: true,
    query: (text, values) => statement(client, { text, values, ...patience }),
  });
}

function end(client: pg.PoolClient, command: 'COMMIT' | 'ROLLBACK'): void {
  client.query(command).then(
    () => client.release(),
    (error: Error) => client.release(error),
  );
}

interface CatchUp {
  readonly attempt: Attempt;
  readonly asked: Promise<Position>;
  /** An older position, usually of the same timeline. */
  readonly known: Position | undefined;
}

/** Begins a transaction on the replica, and returns once its next statement sees the position. */
async function catchUp(client: pg.ClientBase, { attempt, asked, known }: CatchUp): Promise<void> {
  let begin = 'BEGIN READ ONLY; ';
  const ask = (mark: string) => {
    const asking = readProgress(client, begin, mark);
    begin = '';
    return asking;
  };
  // Both servers are asked at once. Usually the replica has caught up by the time at which the primary answers.
  const early = known && ask(known.mark);
  early?.catch(() => {});
  const position = await asked.catch((error: unknown) => {
    attempt.why = 'the primary does not tell its position';
    throw error;
  });
  let progress = await early;
  for (let pauseMs = 2; ; pauseMs *= 2) {
    if (progress?.mark !== position.mark) progress = await ask(position.mark);
    const lack = whatLacks(progress, position);
    if (lack === undefined) return;
    attempt.why = lack;
    if (attempt.isLate || lack === 'it is no standby') throw new Behind(lack);
    await sleep(pauseMs);
    progress = undefined;
  }
}

interface Progress {
  /** Null on a server that is no standby, or that keeps no log of its own. */
  readonly replayed: bigint | null;
  /** Whether the timeline with this mark is part of the server's history. */
  readonly follows: boolean;
  readonly mark: string;
}

async function readProgress(client: pg.ClientBase, begin: string, mark: string): Promise<Progress> {
  const { rows } = await statement<Omit<Progress, 'mark'>>(client, {
    text: `${begin}SELECT CASE WHEN pg_is_in_recovery() THEN pg_last_wal_replay_lsn() - '0/0' END AS replayed,
      EXISTS (SELECT FROM timelines WHERE mark = '${mark}') AS follows`,
  });
  return { ...(rows[0] as Omit<Progress, 'mark'>), mark };
}

function whatLacks({ replayed, follows }: Progress, position: Position): Lack | undefined {
  if (replayed === null) return 'it is no standby';
  if (replayed < position.lsn) return 'it lags';
  return follows ? undefined : 'it does not share the history of the primary';
}
