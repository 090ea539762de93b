import { openDatabase } from '../src/kernel/db/database.ts';
import { createLogger } from '../src/kernel/log/logger.ts';
import { cpuSeconds } from './cpu.ts';
import { load, type Server, startServer } from './http.ts';
import { createPeople } from './people.ts';

/** The same load on so many instances of one database, all on this machine. */
interface InstancesMeasured {
  readonly instances: number;
  readonly transfersPerSecond: number;
  readonly p99Ms: number;
  /** CPU of each transfer: all instances together, PostgreSQL, and what makes the requests. */
  readonly serverUs: number;
  readonly postgresUs: number;
  readonly loadUs: number;
  /** With the whole pages that PostgreSQL writes when they change for the first time since a checkpoint. */
  readonly walBytes: number;
}

export type InstanceFigures = readonly InstancesMeasured[];

interface InstancesOptions {
  readonly seconds: number;
  readonly repeats: number;
  readonly say: (line: string) => void;
}

const connections = 192;

/**
 * On one machine the instances, PostgreSQL and the load share the cores, so transfers per second say little. CPU per transfer
 * says what machines of their own would carry.
 */
export async function measureInstances(
  createDatabase: (name: string) => Promise<string>,
  { seconds, repeats, say }: InstancesOptions,
): Promise<InstanceFigures> {
  const url = await createDatabase('instances');
  const db = openDatabase({ url, poolSize: 2, logger: createLogger('silent') });
  const people = await createPeople(db, 2_000);
  const order = { seconds, path: '/api/agent/transfer', people };
  try {
    const counters = async () => {
      const { rows } = await db.query<{ transfers: bigint; bytes: bigint }>(
        `SELECT (SELECT count(*) FROM ledger.postings) AS transfers,
                pg_wal_lsn_diff(pg_current_wal_insert_lsn(), '0/0') AS bytes`,
      );
      return rows[0] ?? { transfers: 0n, bytes: 0n };
    };
    const measureWith = async (servers: readonly Server[]): Promise<InstancesMeasured> => {
      const count = servers.length;
      const spent = () => {
        const server = servers.reduce((sum, { pid }) => sum + cpuSeconds(pid), 0);
        const load = cpuSeconds(process.pid, 'family') - server;
        return { server, load, postgres: cpuSeconds(servers[0]?.postgresPid ?? 0, 'family') };
      };
      // Every instance remembers every key afterwards.
      for (const server of servers) await load(server, { ...order, connections, seconds: 0, everybodyOnce: true });
      const [before, from] = [await counters(), spent()];
      const share = { ...order, connections: connections / count };
      const loads = await Promise.all(servers.map((server) => load(server, share)));
      const to = spent();
      const after = await counters();
      const transfers = Number(after.transfers - before.transfers);
      const each = (now: number, then: number) => ((now - then) * 1e6) / transfers;
      return {
        instances: count,
        transfersPerSecond: loads.reduce((sum, { transfersPerSecond }) => sum + transfersPerSecond, 0),
        p99Ms: Math.max(...loads.map(({ p99Ms }) => p99Ms)),
        serverUs: each(to.server, from.server),
        postgresUs: each(to.postgres, from.postgres),
        loadUs: each(to.load, from.load),
        walBytes: Number(after.bytes - before.bytes) / transfers,
      };
    };
    /** An idle instance would cost something, too. */
    const measure = async (count: number) => {
      const servers: Server[] = [];
      try {
        for (let n = 0; n < count; n++)
          servers.push(await startServer(url, { BENCH_DELAYS: 'off', BENCH_ROOTS: 'hourly' }));
        return await measureWith(servers);
      } finally {
        for (const server of servers) await server.stop();
      }
    };
    const runs: InstancesMeasured[][] = [[], [], []];
    for (let round = 1; round <= repeats; round++) {
      say(`Instances, round ${round} of ${repeats} …`);
      for (const count of [1, 2, 3]) runs[count - 1]?.push(await measure(count));
    }
    return runs.flatMap((of) => {
      const sorted = of.toSorted((left, right) => left.transfersPerSecond - right.transfersPerSecond);
      return sorted[sorted.length >> 1] ?? [];
    });
  } finally {
    await db.close();
  }
}
