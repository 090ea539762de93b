import type { Feature } from '../feature.ts';
import { advanceWithdrawalHandler } from './advance-withdrawal.ts';
import { addWithdrawalCommands } from './commands.ts';
import { withdrawalEvents } from './events.ts';
import { resumeAllWithdrawals, resumeWithdrawalsSchedule, wakeWithdrawal } from './jobs.ts';
import { withdrawalRoutes } from './routes.ts';

export const withdrawals: Feature = {
  name: 'withdrawals',
  chapters: [{ name: 'Withdrawals', description: 'Send money to an address outside, and follow it.' }],
  events: withdrawalEvents,
  commands: (program, { withMoney, say }) => addWithdrawalCommands(program, withMoney, say),
  routes: ({ db, once, ledger, networks, checkpoint }) => withdrawalRoutes({ db, once, ledger, networks, checkpoint }),
  onStart: ({ db }) => resumeAllWithdrawals(db),
  jobs: ({ db, ledger, networks, provider, screening, logger, checkpoint }) => [
    advanceWithdrawalHandler({ db, ledger, networks, provider, screening, logger, checkpoint }),
  ],
  schedules: ({ db }) => [resumeWithdrawalsSchedule(db)],
  onTransaction: wakeWithdrawal,
};
