import { z } from 'zod';
import { monotonicClock } from '../../kernel/clock.ts';
import type { Feature } from '../../kernel/feature.ts';
import { defineJob, handleJob } from '../../kernel/jobs/define-job.ts';
import type { Schedule } from '../../kernel/jobs/worker.ts';
import { defineMetrics, type MetricSource } from '../../kernel/metrics/metric.ts';
import type { Mode } from '../../kernel/settings.ts';
import { addReserveCommands, type ReserveCommandParts } from './commands.ts';
import type { ReserveRow } from './report.ts';
import { createReserves, type Reserves, type ReservesOptions } from './reserves.ts';
import { reserveRoutes } from './routes.ts';

/**
 * A report asks every chain about every wallet with a balance, so it is made this often, however often Prometheus
 * scrapes.
 */
const everyMs = 10 * 60_000;

/** Amounts are floats, which is enough for an alert; `paywright reserves` is exact. */
function reserveMetrics(reserves: Pick<Reserves, 'report'>): MetricSource {
  return defineMetrics({
    name: 'reserves',
    metrics: {
      paywright_reserves_difference: {
        type: 'gauge',
        help: 'Held minus owed minus in flight; should be 0. Absent while the chain cannot be asked.',
      },
      paywright_reserves_owed: { type: 'gauge', help: 'Owed according to the ledger.' },
      paywright_reserves_unknown: { type: 'gauge', help: '1 if the last report could not ask the chain, else 0.' },
      paywright_reserves_reported_at_seconds: { type: 'gauge', help: 'Unix time of the last report.' },
    },
    everyMs,
    async read() {
      const { reserves: rows, at } = await reserves.report();
      const each = (count: (row: ReserveRow) => string | null) =>
        rows.flatMap((row) => {
          const text = count(row);
          return text === null ? [] : [{ labels: { chain: row.chain, asset: row.asset }, value: Number(text) }];
        });
      return {
        paywright_reserves_difference: each(({ difference }) => difference),
        paywright_reserves_owed: each(({ owed }) => owed),
        paywright_reserves_unknown: each(({ difference }) => (difference === null ? '1' : '0')),
        paywright_reserves_reported_at_seconds: new Date(at).getTime() / 1000,
      };
    },
  });
}

const job = defineJob({ name: 'snapshot-reserves', payload: z.unknown(), maxAttempts: 1 });

/**
 * Every hour. The job only starts the snapshot: with many accounts it takes longer than a job may, and a job ended for
 * that would report a failure although the snapshot is published.
 */
export function snapshotSchedule(reserves: Reserves): Schedule {
  return { at: '7 * * * *', handler: handleJob(job, () => reserves.beginSnapshot()) };
}

interface ReserveParts extends Pick<ReservesOptions, 'db' | 'readDb' | 'networks' | 'logger'> {
  readonly mode: Mode;
}

export const reserves: Feature<{
  serving: ReserveParts;
  metrics: ReserveParts;
  working: ReserveParts;
  commands: ReserveCommandParts;
}> = {
  name: 'reserves',
  chapters: [{ name: 'Reserves', description: 'Proof that the service holds what it owes to its users.' }],
  commands: (program, { withMoney, say }) => addReserveCommands(program, withMoney, say),
  routes: (parts) => reserveRoutes(openReserves(parts)),
  metrics: (parts) => [reserveMetrics(openReserves(parts))],
  schedules: (parts) => [snapshotSchedule(openReserves(parts))],
};

function openReserves({ mode, db, readDb = db, networks, logger }: ReserveParts): Reserves {
  return createReserves({
    db,
    readDb,
    networks,
    logger,
    // Measures the age of an answer: a clock that is set back would keep it forever.
    clock: monotonicClock,
    // In the sandbox, users want to see what they have just done.
    ...(mode === 'sandbox' && { snapshotMinAgeMs: 2_000, reportMaxAgeMs: 500 }),
  });
}
