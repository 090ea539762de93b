import { openDatabase } from '../src/kernel/db/database.ts';
import { createLogger } from '../src/kernel/log/logger.ts';
import type { BenchServer } from './bench-database.ts';
import { load, type Server, startServer } from './http.ts';
import { loadTransfers } from './load-transfers.ts';
import { inTurns, type Measured, middle } from './measure.ts';
import { createPeople, type Person } from './people.ts';

export interface GrowthOptions {
  readonly seconds: number;
  readonly repeats: number;
  /** How many transfers the full ledger holds, spread over the past year. */
  readonly transfers: number;
  readonly say: (line: string) => void;
}

export interface GrowthFigures {
  readonly measured: Readonly<Record<string, Measured>>;
  readonly gigabytes: number;
  /** Of a month half a year ago. */
  readonly statement: { readonly lines: number; readonly ms: number };
}

const peopleCount = 10_000;
const months = 12;

/** An empty ledger against one with many transfers in the months of a year, each with a server of its own, in turns. */
export async function measureGrowth(postgres: BenchServer, options: GrowthOptions): Promise<GrowthFigures> {
  const { seconds, repeats, transfers, say } = options;
  const servers: Server[] = [];
  try {
    const empty = await start('growth_empty', 0);
    const full = await start('growth_full', transfers);
    const pay = ({ server, people }: typeof full) =>
      load(server, { connections: 256, seconds, path: '/api/agent/transfer', people });
    const list = ({ server, people }: typeof full) =>
      load(server, { connections: 16, seconds, path: '/api/circle/transfers', people, method: 'GET' });
    const measured = await inTurns(
      { repeats, say },
      {
        'transfers, empty ledger': () => pay(empty),
        'transfers, full ledger': () => pay(full),
        'history, empty ledger': () => list(empty),
        'history, full ledger': () => list(full),
      },
    );
    return { measured, gigabytes: full.gigabytes, statement: await readOldMonth(full.server, full.people) };
  } finally {
    for (const server of servers) await server.stop();
  }

  async function start(name: string, count: number) {
    const url = await postgres.createDatabase(name, 'migrated');
    const db = openDatabase({ url, poolSize: 3, logger: createLogger('silent') });
    const people = await createPeople(db, peopleCount);
    if (count > 0) {
      say(`Loading ${count.toLocaleString('en')} transfers …`);
      const owners = people.map(({ id }) => id);
      await loadTransfers(url, owners, count, { months });
    }
    const { rows } = await db.query<{ bytes: bigint }>('SELECT pg_database_size(current_database()) AS bytes');
    await db.close();
    const server = await startServer(url);
    servers.push(server);
    await load(server, { connections: 64, seconds: 0, path: '/api/agent/transfer', people, everybodyOnce: true });
    return { server, people, gigabytes: Number(rows[0]?.bytes) / 1e9 };
  }
}

async function readOldMonth(server: Server, people: readonly Person[]): Promise<GrowthFigures['statement']> {
  const now = new Date();
  const month = new Date(Date.UTC(now.getUTCFullYear(), now.getUTCMonth() - 6, 1)).toISOString().slice(0, 7);
  const times: number[] = [];
  let lines = 0;
  for (const { key } of people.slice(0, 15)) {
    const started = performance.now();
    const reply = await fetch(`http://127.0.0.1:${server.port}/api/account/statement?month=${month}`, {
      headers: { authorization: `Bearer ${key}` },
    });
    const { lines: found } = (await reply.json()) as { readonly lines: readonly unknown[] };
    times.push(performance.now() - started);
    lines = found.length;
  }
  return { lines, ms: middle(times) };
}
