import { monotonicClock } from '../clock.ts';
import type { Feature, Parts } from '../feature.ts';
import { addReserveCommands } from './commands.ts';
import { snapshotSchedule } from './jobs.ts';
import { reserveMetrics } from './reserve-metrics.ts';
import { createReserves, type Reserves } from './reserves.ts';
import { reserveRoutes } from './routes.ts';

export const reserves: Feature = {
  name: 'reserves',
  chapters: [{ name: 'Reserves', description: 'Proof that the service holds what it owes.' }],
  commands: (program, { withMoney, say }) => addReserveCommands(program, withMoney, say),
  routes: (parts) => reserveRoutes(openReserves(parts)),
  metrics: (parts) => [reserveMetrics(openReserves(parts))],
  schedules: (parts) => [snapshotSchedule(openReserves(parts))],
};

function openReserves({ mode, db, networks, logger }: Parts): Reserves {
  return createReserves({
    db,
    networks,
    logger,
    // Only how old an answer is: a clock that is set back would keep it for ever.
    clock: monotonicClock,
    // Whoever tries it out wants to see what he has just done.
    ...(mode === 'sandbox' && { snapshotMinAgeMs: 2_000, reportMaxAgeMs: 500 }),
  });
}
