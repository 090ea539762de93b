import type { Logger } from '../log/logger.ts';
import { defineMetrics, type MetricSource } from '../metrics/metric.ts';
import type { CountedPool } from '../metrics/process-metrics.ts';
import { urlsOfHosts } from '../several-hosts.ts';
import { type Database, openDatabase, type ReadDatabase } from './database.ts';
import { createPositions } from './position.ts';
import { Behind, openReplica, type ReplicaTimes } from './replica.ts';

export interface ReadDatabaseOptions {
  readonly db: Database;
  readonly primaryUrl: string;
  /** May name several hosts. */
  readonly url: string;
  readonly poolSize: number;
  readonly logger: Logger;
  readonly times?: Partial<ReplicaTimes>;
}

/** What became of a read. All but the first are done on the primary. */
type Outcome = 'replica' | 'behind' | 'skipped' | 'failed';

export interface OpenReadDatabase extends ReadDatabase {
  readonly metrics: MetricSource;
  readonly pools: ReadonlyMap<string, CountedPool>;
  close(): Promise<void>;
}

/**
 * Reads from a replica that shows at least what any instance has told anyone before the call, or else from the primary.
 * Returns at once: a replica is used from the moment it is found to have caught up.
 */
export function openReadDatabase({
  db,
  primaryUrl,
  url,
  poolSize,
  logger,
  times,
}: ReadDatabaseOptions): OpenReadDatabase {
  // A question must not wait behind slow statements. One connection is enough, because one question is under way at a time.
  const asking = openDatabase({
    url: primaryUrl,
    poolSize: 1,
    logger,
    applicationName: 'paywright-positions',
    limits: { statementMs: 2_000, lockMs: 1_000 },
  });
  const positions = createPositions(asking);
  const replicas = urlsOfHosts(url).map((one, index) =>
    openReplica({ url: one, name: String(index + 1), poolSize, positions, logger, ...(times && { times }) }),
  );
  const counts: Record<Outcome, number> = { replica: 0, behind: 0, skipped: 0, failed: 0 };
  let turn = 0;

  async function read<Result>(
    onReplica: (replica: (typeof replicas)[number]) => Promise<Result>,
    onPrimary: () => Promise<Result>,
  ): Promise<Result> {
    const usable = replicas.filter(({ isUsable }) => isUsable);
    turn += 1;
    const replica = usable[turn % usable.length];
    if (replica === undefined) {
      counts.skipped += 1;
      return onPrimary();
    }
    try {
      const result = await onReplica(replica);
      counts.replica += 1;
      return result;
    } catch (error) {
      // A statement that is at fault itself fails on the primary, too.
      counts[error instanceof Behind ? 'behind' : 'failed'] += 1;
      return onPrimary();
    }
  }

  return {
    query: (text, values) =>
      read(
        (replica) => replica.query(text, values),
        () => db.query(text, values),
      ),
    atOneMoment: (work) =>
      read(
        (replica) => replica.atOneMoment(work),
        () => db.atOneMoment(work),
      ),
    metrics: defineMetrics({
      name: 'reads',
      metrics: {
        paywright_reads_total: {
          type: 'counter',
          help: 'Reads that may come from a replica: `replica`, or on the primary because the replica was `behind`, `skipped` or `failed`.',
        },
        paywright_replica_usable: {
          type: 'gauge',
          help: '1 if reads go to this host of DATABASE_READ_URL, 0 while it is skipped.',
        },
      },
      maxAgeMs: 0,
      read: () => ({
        paywright_reads_total: Object.entries(counts).map(([outcome, value]) => ({ labels: { outcome }, value })),
        paywright_replica_usable: replicas.map(({ name, isUsable }) => ({
          labels: { replica: name },
          value: isUsable ? 1 : 0,
        })),
      }),
    }),
    pools: new Map(replicas.map(({ name, pool }) => [`replica ${name}`, pool])),
    async close() {
      await Promise.all(replicas.map((replica) => replica.close()));
      await asking.close();
    },
  };
}
