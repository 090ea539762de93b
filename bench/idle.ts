import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { cpuSeconds } from './cpu.ts';
import { startServer } from './http.ts';

export interface IdleFigures {
  /** Percent of one core. */
  readonly serverCpu: number;
  readonly postgresCpu: number;
  readonly transactionsPerSecond: number;
}

const settleSeconds = 45;
const watchedSeconds = 60;

/** What a sandbox costs that nobody uses: the server with its chains, and its PostgreSQL. */
export async function measureIdle(
  createDatabase: (name: string) => Promise<string>,
  say: (line: string) => void,
): Promise<IdleFigures> {
  const url = await createDatabase('idle');
  const server = await startServer(url, { BENCH_DELAYS: 'off' });
  const admin = new pg.Client({ connectionString: url });
  try {
    await admin.connect();
    say('Watching an idle sandbox …');
    await sleep(settleSeconds * 1_000);
    const before = await readSpent(admin, server);
    await sleep(watchedSeconds * 1_000);
    const after = await readSpent(admin, server);
    const seconds = (after.at - before.at) / 1_000;
    return {
      serverCpu: (100 * (after.server - before.server)) / seconds,
      postgresCpu: (100 * (after.postgres - before.postgres)) / seconds,
      transactionsPerSecond: (after.transactions - before.transactions) / seconds,
    };
  } finally {
    await admin.end();
    await server.stop();
  }
}

async function readSpent(
  admin: pg.Client,
  { pid, postgresPid = 0 }: { pid: number; postgresPid?: number | undefined },
) {
  const { rows } = await admin.query<{ count: string }>(
    'SELECT xact_commit AS count FROM pg_stat_database WHERE datname = current_database()',
  );
  return {
    at: performance.now(),
    server: cpuSeconds(pid),
    postgres: cpuSeconds(postgresPid, 'family'),
    transactions: Number(rows[0]?.count),
  };
}
