import type { Feature } from '../../kernel/feature.ts';
import type { Mode } from '../../kernel/settings.ts';
import { accountClosing } from '../closing/on-account-closing.ts';
import { forgetMessagesSchedule, type OutboxParts, sendMessageHandler } from './outbox.ts';

export const messages: Feature<{ working: Omit<OutboxParts, 'keepText'> & { readonly mode: Mode } }> = {
  name: 'messages',
  hooks: [
    // Unsent messages are not sent, and the recipient's address is erased.
    accountClosing.on(async (tx, accountId) => {
      await tx.query('DELETE FROM messages WHERE account_id = $1', [accountId]);
    }),
  ],
  sealed: [{ purpose: 'messages', columns: [{ table: 'messages', key: ['id'], column: 'sealed' }] }],
  jobs: ({ mode, db, secrets, notifier }) => [
    sendMessageHandler({ db, secrets, notifier, keepText: mode === 'sandbox' }),
  ],
  schedules: ({ db }) => [forgetMessagesSchedule(db)],
};
