import type { OnAccountClosing } from '../accounts/closing/on-account-closing.ts';
import { recordInvoiceEvent } from './answer.ts';
import { findInvoice } from './invoice.ts';
import type { InvoiceParts } from './parts.ts';

/**
 * Cancels the pending invoices that an account which closes has sent, and those to its handle: no one else can pay them. Invoices to
 * its email stay with the email.
 */
export function cancelInvoicesOf(parts: Pick<InvoiceParts, 'publicUrl'>): OnAccountClosing {
  return async (tx, accountId) => {
    const { rows } = await tx.query<{ id: string }>(
      `UPDATE invoices SET status = 'cancelled', cancelled_at = clock_timestamp()
        WHERE id = ANY (ARRAY(SELECT id FROM invoices
          WHERE status = 'pending' AND (from_account_id = $1 OR to_account_id = $1) ORDER BY id FOR UPDATE))
       RETURNING id`,
      [accountId],
    );
    for (const { id } of rows) {
      await recordInvoiceEvent(tx, parts, 'invoice.cancelled', await findInvoice(tx, id, accountId));
    }
  };
}
