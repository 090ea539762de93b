import pg from 'pg';
import { connectionSettings } from './connection-settings.ts';

export interface BlockerWatch {
  /** Describes the last lock that the session waited for, and its holder. */
  last(): string;
  stop(): Promise<void>;
}

const lookEveryMs = 100;

/** Watches from a second connection which locks a session waits for. */
export async function watchBlockers(url: string, pid: number): Promise<BlockerWatch> {
  const client = new pg.Client(connectionSettings({ url, applicationName: 'paywright-migrate-watch' }));
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
