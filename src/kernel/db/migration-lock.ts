import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Refusal } from '../refusal.ts';
import { newClient } from './connection-settings.ts';
import { tryHoldLock } from './locks.ts';

interface BlockerWatch {
  /** Describes the last lock that the session waited for, and its holder. */
  last(): string;
  stop(): Promise<void>;
}

const lookEveryMs = 100;

/** Watches from a second connection which locks a session waits for. */
export async function watchBlockers(url: string, pid: number): Promise<BlockerWatch> {
  const client = newClient({ url, applicationName: 'paywright-migrate-watch' });
  client.on('error', () => {});
  await client.connect();
  let last = 'a session that holds a lock';
  let looking: Promise<void> | undefined;

  async function look(): Promise<void> {
    const { rows } = await client.query<{
      relation: string | null;
      blocker: number;
      name: string | null;
      seconds: number | null;
    }>(
      `SELECT l.relation::regclass::text AS relation, b.pid AS blocker, a.application_name AS name,
              extract(epoch FROM now() - a.xact_start)::integer AS seconds
         FROM pg_locks l
        CROSS JOIN LATERAL unnest(pg_blocking_pids(l.pid)) b (pid)
         LEFT JOIN pg_stat_activity a ON a.pid = b.pid
        WHERE l.pid = $1 AND NOT l.granted LIMIT 1`,
      [pid],
    );
    const [row] = rows;
    if (row === undefined) return;
    const who = `process ${row.blocker}${row.name ? ` (${row.name})` : ''}`;
    const since = row.seconds === null ? '' : `, whose transaction is ${row.seconds} s old`;
    last = `${row.relation ?? 'a lock'}, which is held by ${who}${since}`;
  }

  const timer = setInterval(() => {
    looking ??= look()
      .catch(() => {})
      .finally(() => {
        looking = undefined;
      });
  }, lookEveryMs).unref();

  return {
    last: () => last,
    async stop() {
      clearInterval(timer);
      await looking;
      await client.end();
    },
  };
}

/** lock_not_available and deadlock_detected. */
const lockTrouble = new Set(['55P03', '40P01']);

const firstPauseMs = 500;
const longestPauseMs = 15_000;

interface Waiting {
  /** The subject of the sentences shown to the operator. */
  readonly what: string;
  /** Who holds the lock. */
  readonly whom: () => string;
}

/**
 * A session that waits for a table lock blocks all later sessions, even readers. So each attempt waits only briefly,
 * then releases the queue behind it and retries with backoff until the patience ends.
 */
export async function retryLockTimeouts<Result>(
  { patienceMs, say }: MigrationPatience,
  { what, whom }: Waiting,
  attempt: () => Promise<Result>,
): Promise<Result> {
  const deadline = performance.now() + patienceMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof pg.DatabaseError && lockTrouble.has(error.code ?? ''))) throw error;
      if (performance.now() + pauseMs > deadline) {
        throw new Refusal(`${what} failed: it timed out waiting for ${whom()}. Nothing was changed; try again.`);
      }
      say(`${what} waits for ${whom()}. It lets other sessions go first and retries in ${pauseMs / 1_000} s.`);
      await sleep(pauseMs);
    }
  }
}

export interface MigrationPatience {
  /** How long one statement waits for a lock. Later sessions queue behind it for as long. */
  readonly lockMs: number;
  /** How long the retries go on. */
  readonly patienceMs: number;
  readonly say: (line: string) => void;
}

export const usualPatience: MigrationPatience = { lockMs: 2_000, patienceMs: 600_000, say: () => {} };

const askEveryMs = 100;

/** Lets one process at a time change the schema. The lock lasts until the session ends. */
export async function holdMigrationLock(
  session: pg.Client,
  { patienceMs, say }: Pick<MigrationPatience, 'patienceMs' | 'say'>,
): Promise<void> {
  const deadline = performance.now() + patienceMs;
  for (let told = false; !(await tryHoldLock(session, 'migrations')); told = true) {
    if (performance.now() > deadline)
      throw new Refusal(
        'Another process has been changing the database schema for too long. Stop it, or wait for it and try again.',
      );
    if (!told) say('Another process is changing the database schema. Waiting for it …');
    await sleep(askEveryMs);
  }
}
