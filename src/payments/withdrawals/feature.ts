import { accountClosing } from '../../accounts/closing/on-account-closing.ts';
import type { Networks } from '../../chains/network.ts';
import { limitMetrics } from '../../custody/limits/limit-metrics.ts';
import { limitSettings, type OutgoingLimits } from '../../custody/limits/outgoing-limits.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Mode } from '../../kernel/settings.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { withdrawalHandler } from './advance-withdrawal.ts';
import { addFeeCommand, addWithdrawalCommands } from './commands.ts';
import { type WithdrawalParts, withdrawalRoutes } from './routes.ts';
import { withdrawalSaga } from './saga.ts';
import { type WithdrawalSagaParts, withdrawalEvents } from './withdrawal.ts';

export const withdrawals: Feature<{
  settings: OutgoingLimits;
  serving: Omit<WithdrawalParts, 'brakes'>;
  metrics: { readonly db: Database };
  working: Omit<WithdrawalSagaParts, 'perHour'> & { readonly mode: Mode };
  commands: { readonly db: Database; readonly ledger: Ledger; readonly networks: Networks };
}> = {
  name: 'withdrawals',
  hooks: [
    accountClosing.on(async (tx, accountId) => {
      await tx.query('DELETE FROM withdrawal_addresses WHERE account_id = $1', [accountId]);
      await tx.query('DELETE FROM withdrawal_allow_lists WHERE account_id = $1', [accountId]);
    }),
  ],
  settings: limitSettings,
  chapters: [
    {
      name: 'Withdrawals',
      description: 'Send money to external addresses, follow withdrawals, and manage limits and the allow-list.',
    },
  ],
  events: withdrawalEvents,
  commands(program, tools) {
    addWithdrawalCommands(program, tools);
    addFeeCommand(program, tools);
  },
  routes: (parts, brakes) => withdrawalRoutes({ ...parts, brakes }),
  metrics: ({ db }, brakes) => [limitMetrics(db, brakes)],
  async onStart({ mode, logger }, { perDay }) {
    // Allowed, but the operator should know.
    if (mode === 'live' && perDay.enterprise === undefined)
      logger.warn('accounts of the enterprise tier have no daily limit: WITHDRAWAL_DAILY_LIMIT_ENTERPRISE is 0');
  },
  sagas: [{ saga: withdrawalSaga, handler: (parts, { perHour }) => withdrawalHandler({ ...parts, perHour }) }],
};
