import type { Feature } from '../feature.ts';
import { addTreasuryCommands } from './commands.ts';
import { moveRetiredSchedule } from './move-retired.ts';
import { watchGasSchedule } from './watch-gas.ts';

export const treasury: Feature = {
  name: 'treasury',
  commands: (program, { withMoney, say }) => addTreasuryCommands(program, withMoney, say),
  schedules: ({ db, ledger, networks, provider, logger }) => [
    moveRetiredSchedule({ db, ledger, networks, provider, logger }),
    watchGasSchedule({ db, networks, logger }),
  ],
};
