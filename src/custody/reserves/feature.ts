import { monotonicClock } from '../../kernel/clock.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Mode } from '../../kernel/settings.ts';
import { addReserveCommands, type ReserveCommandParts } from './commands.ts';
import { snapshotSchedule } from './jobs.ts';
import { reserveMetrics } from './reserve-metrics.ts';
import { createReserves, type Reserves, type ReservesOptions } from './reserves.ts';
import { reserveRoutes } from './routes.ts';

interface ReserveParts extends Pick<ReservesOptions, 'db' | 'networks' | 'logger'> {
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

function openReserves({ mode, db, networks, logger }: ReserveParts): Reserves {
  return createReserves({
    db,
    networks,
    logger,
    // Measures the age of an answer: a clock that is set back would keep it forever.
    clock: monotonicClock,
    // In the sandbox, users want to see what they have just done.
    ...(mode === 'sandbox' && { snapshotMinAgeMs: 2_000, reportMaxAgeMs: 500 }),
  });
}
