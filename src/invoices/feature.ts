import type { Feature } from '../feature.ts';
import { cancelInvoicesOf, lockInvoicesOf } from './cancel-invoices-of.ts';
import { invoiceRoutes } from './routes.ts';

export const invoices: Feature = {
  name: 'invoices',
  chapters: [{ name: 'Invoices', description: 'Ask somebody to pay you, and pay what you are asked for.' }],
  events: [{ name: 'invoice.created' }, { name: 'invoice.paid' }, { name: 'invoice.cancelled' }],
  beforeAccountClosing: lockInvoicesOf,
  onAccountClosing: cancelInvoicesOf,
  routes: ({ db, once, ledger, clock, publicUrl }) => invoiceRoutes({ db, once, ledger, clock, publicUrl }),
};
