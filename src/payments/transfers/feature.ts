import type { Feature } from '../../kernel/feature.ts';
import { transferEvents } from './events.ts';
import { createRecipientBook } from './recipient-book.ts';
import { type TransferParts, transferRoutes } from './routes.ts';

export const transfers: Feature<{ serving: Omit<TransferParts, 'recipients'> }> = {
  name: 'transfers',
  chapters: [{ name: 'Transfers', description: 'Pay other accounts, and see your balance, history and statements.' }],
  events: transferEvents,
  routes: ({ db, ledger }) => transferRoutes({ db, ledger, recipients: createRecipientBook(db) }),
};
