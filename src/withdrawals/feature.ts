import type { Feature } from '../feature.ts';
import { withdrawalHandler } from './advance-withdrawal.ts';
import { brakeMetrics } from './brake-metrics.ts';
import { type Brakes, brakeSettings } from './brakes.ts';
import { addWithdrawalCommands } from './commands.ts';
import { withdrawalEvents } from './events.ts';
import { withdrawalRoutes } from './routes.ts';
import { withdrawalSaga } from './saga.ts';

export const withdrawals: Feature<Brakes> = {
  name: 'withdrawals',
  onAccountClosing: () => async (tx, accountId) => {
    await tx.query('DELETE FROM withdrawal_addresses WHERE account_id = $1', [accountId]);
    await tx.query('DELETE FROM withdrawal_allow_lists WHERE account_id = $1', [accountId]);
  },
  settings: brakeSettings,
  chapters: [
    { name: 'Withdrawals', description: 'Send money to an address outside, follow it, and say how much may go where.' },
  ],
  events: withdrawalEvents,
  commands: addWithdrawalCommands,
  routes: ({ db, once, ledger, networks, silentChains, market, gasCosts, secrets, checkpoint }, brakes) =>
    withdrawalRoutes({ db, once, ledger, networks, silentChains, market, gasCosts, secrets, brakes, checkpoint }),
  metrics: ({ db }, brakes) => [brakeMetrics(db, brakes)],
  async onStart({ mode, logger }, { perDay }) {
    // The operator may have agreed on it, and should know that it is so.
    if (mode === 'live' && perDay.enterprise === undefined)
      logger.warn('accounts of the enterprise tier have no daily limit: WITHDRAWAL_DAILY_LIMIT_ENTERPRISE is 0');
  },
  sagas: [
    {
      saga: withdrawalSaga,
      handler: ({ db, ledger, networks, provider, screening, logger, checkpoint }, { perHour }) =>
        withdrawalHandler({ db, ledger, networks, provider, screening, logger, checkpoint, perHour }),
    },
  ],
};
