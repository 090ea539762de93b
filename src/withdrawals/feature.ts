import type { Feature } from '../feature.ts';
import { withdrawalHandler } from './advance-withdrawal.ts';
import { addWithdrawalCommands } from './commands.ts';
import { withdrawalEvents } from './events.ts';
import { withdrawalRoutes } from './routes.ts';
import { withdrawalSaga } from './saga.ts';

export const withdrawals: Feature = {
  name: 'withdrawals',
  chapters: [{ name: 'Withdrawals', description: 'Send money to an address outside, and follow it.' }],
  events: withdrawalEvents,
  commands: (program, { withMoney, say }) => addWithdrawalCommands(program, withMoney, say),
  routes: ({ db, once, ledger, networks, silentChains, market, checkpoint }) =>
    withdrawalRoutes({ db, once, ledger, networks, silentChains, market, checkpoint }),
  sagas: [
    {
      saga: withdrawalSaga,
      handler: ({ db, ledger, networks, provider, screening, logger, checkpoint }) =>
        withdrawalHandler({ db, ledger, networks, provider, screening, logger, checkpoint }),
    },
  ],
};
