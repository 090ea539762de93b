import type { Feature } from '../../kernel/feature.ts';
import { createRecipientBook } from './recipient.ts';
import { type TransferParts, transferRoutes } from './routes.ts';
import { transferEvents } from './transfer-posting.ts';

export const transfers: Feature<{ serving: Omit<TransferParts, 'recipients'> }> = {
  name: 'transfers',
  chapters: [{ name: 'Transfers', description: 'Pay other accounts, and see your balance, history and statements.' }],
  events: transferEvents,
  routes: (parts) => transferRoutes({ ...parts, recipients: createRecipientBook(parts.db) }),
};
