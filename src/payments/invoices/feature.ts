import { accountClosing, beforeAccountClosing } from '../../accounts/closing/on-account-closing.ts';
import type { Feature } from '../../kernel/feature.ts';
import { cancelInvoicesOf, lockInvoicesOf } from './cancel-invoice.ts';
import { type InvoiceRouteParts, invoiceRoutes } from './routes.ts';

export const invoices: Feature<{ serving: InvoiceRouteParts }> = {
  name: 'invoices',
  chapters: [{ name: 'Invoices', description: 'Request payments from other users, and pay their invoices.' }],
  events: [{ name: 'invoice.created' }, { name: 'invoice.paid' }, { name: 'invoice.cancelled' }],
  hooks: [beforeAccountClosing.on(lockInvoicesOf), accountClosing.on(cancelInvoicesOf)],
  routes: invoiceRoutes,
};
