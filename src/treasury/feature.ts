import type { Feature } from '../feature.ts';
import { addTreasuryCommands } from './commands.ts';
import { gasMetrics } from './gas-metrics.ts';
import { houseMoveHandler, houseMoveSaga } from './house-move.ts';
import { beginMoves, moveRetiredSchedule } from './move-retired.ts';
import { watchGasSchedule } from './watch-gas.ts';

export const treasury: Feature = {
  name: 'treasury',
  commands: (program, { withMoney, say }) => addTreasuryCommands(program, withMoney, say),
  sagas: [
    {
      saga: houseMoveSaga,
      handler: ({ db, ledger, networks, provider, checkpoint }) =>
        houseMoveHandler({ db, ledger, networks, provider, checkpoint }),
    },
  ],
  metrics: ({ db, networks }) => [gasMetrics(db, networks)],
  onStart: ({ db, networks, logger, checkpoint }) => beginMoves({ db, networks, logger, checkpoint }),
  schedules: ({ db, networks, logger, checkpoint }) => [
    moveRetiredSchedule({ db, networks, logger, checkpoint }),
    watchGasSchedule({ db, networks, logger }),
  ],
};
