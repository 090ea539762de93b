import type { Transaction } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { recordInvoiceEvent } from './answer.ts';
import { invoiceErrors } from './errors.ts';
import { findInvoice, type Invoice, lockInvoice, refuseUnlessPossible } from './invoice.ts';
import type { InvoiceParts } from './parts.ts';

export async function cancelInvoice(
  tx: Transaction,
  parts: InvoiceParts,
  { caller: { accountId }, id }: { readonly caller: Caller; readonly id: string },
): Promise<Invoice> {
  const invoice = await lockInvoice(tx, id, accountId);
  if (invoice.senderId !== accountId) throw invoiceErrors.not_invoice_sender();
  refuseUnlessPossible(invoice, 'cancel');
  await tx.query("UPDATE invoices SET status = 'cancelled', cancelled_at = clock_timestamp() WHERE id = $1", [id]);
  const cancelled = await findInvoice(tx, id, accountId);
  await recordInvoiceEvent(tx, parts, 'invoice.cancelled', cancelled);
  return cancelled;
}
