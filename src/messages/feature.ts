import type { Feature } from '../feature.ts';
import { forgetMessagesSchedule } from './forget-messages.ts';
import { sendMessageHandler } from './outbox.ts';

export const messages: Feature = {
  name: 'messages',
  /** Those that wait are not sent, and of the others the address goes. */
  onAccountClosing: () => async (tx, accountId) => {
    await tx.query('DELETE FROM messages WHERE account_id = $1', [accountId]);
  },
  sealed: [{ purpose: 'messages', columns: [{ table: 'messages', key: ['id'], column: 'sealed' }] }],
  jobs: ({ mode, db, secrets, notifier }) => [
    sendMessageHandler({ db, secrets, notifier, keepText: mode === 'sandbox' }),
  ],
  schedules: ({ db }) => [forgetMessagesSchedule(db)],
};
