import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import type { Machine } from './machines.ts';

interface Acknowledged {
  readonly machine: string;
  readonly number: number;
  readonly timeline: number;
  readonly begunAt: number;
  readonly acknowledgedAt: number;
}

export interface Probe {
  readonly acknowledged: Acknowledged[];
  stop(): Promise<void>;
}

/** Writes a row to each machine as often as it can, whoever leads, past everything that chooses one. */
export async function startProbe(machines: readonly Machine[], leader: Machine): Promise<Probe> {
  const urlOf = ({ postgresPort }: Machine) => `postgres://paywright@127.0.0.1:${postgresPort}/paywright`;
  const first = new pg.Client({ connectionString: urlOf(leader) });
  await first.connect();
  await first.query('CREATE TABLE cluster_probe (machine text, number integer, PRIMARY KEY (machine, number))');
  await first.end();

  const acknowledged: Acknowledged[] = [];
  let isStopped = false;
  const running = machines.map(async (machine) => {
    const { name } = machine;
    let client: pg.Client | undefined;
    for (let number = 1; !isStopped; number++) {
      const begunAt = performance.now();
      try {
        client ??= await connect(urlOf(machine));
        const { rows } = await client.query(
          `INSERT INTO cluster_probe VALUES ($1, $2) RETURNING left(pg_walfile_name(pg_current_wal_lsn()), 8) AS timeline`,
          [name, number],
        );
        const timeline = Number.parseInt(rows[0].timeline, 16);
        acknowledged.push({ machine: name, number, timeline, begunAt, acknowledgedAt: performance.now() });
      } catch {
        client?.end().catch(() => {});
        client = undefined;
      }
      await sleep(50);
    }
    await client?.end().catch(() => {});
  });
  return {
    acknowledged,
    async stop() {
      isStopped = true;
      await Promise.all(running);
    },
  };
}

async function connect(url: string): Promise<pg.Client> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000, query_timeout: 5_000 });
  client.on('error', () => {});
  await client.connect().catch((error: unknown) => {
    client.end().catch(() => {});
    throw error;
  });
  return client;
}

/**
 * Writes of a machine that did not lead: another one had already acknowledged on a later timeline, or was the first on the same one. Every
 * promotion begins a timeline, so each has one primary. Two machines that were promoted at once begin the same one.
 */
export function overlapsOf(acknowledged: readonly Acknowledged[]): readonly Acknowledged[] {
  const firstOf = new Map<number, Acknowledged>();
  for (const write of acknowledged) {
    const first = firstOf.get(write.timeline);
    if (first === undefined || write.acknowledgedAt < first.acknowledgedAt) firstOf.set(write.timeline, write);
  }
  return acknowledged.filter(({ machine, timeline, begunAt }) =>
    [...firstOf.values()].some((first) =>
      first.timeline === timeline
        ? first.machine !== machine
        : first.timeline > timeline && first.acknowledgedAt < begunAt,
    ),
  );
}
