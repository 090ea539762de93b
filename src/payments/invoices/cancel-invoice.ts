import type { OnAccountClosing } from '../../accounts/closing/on-account-closing.ts';
import { accountErrors } from '../../accounts/errors.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { invoiceErrors } from './errors.ts';
import { findInvoice, type Invoice, type InvoiceParts, lockInvoice, refuseUnlessPossible } from './invoice.ts';
import { recordInvoiceEvent } from './response.ts';

const pendingOf = "SELECT id FROM invoices WHERE status = 'pending' AND (from_account_id = $1 OR to_account_id = $1)";

/** Before the ledger accounts, as when paying, so that the two cannot deadlock. */
export const lockInvoicesOf: OnAccountClosing = async (tx, accountId) => {
  await tx.query(`${pendingOf} ORDER BY id FOR UPDATE`, [accountId]);
};

/**
 * Cancels the pending invoices that a closing account has sent, and those to its handle, which only that account could
 * pay. Pending invoices to its email stay valid for the email's next owner; the email is erased from invoices that the
 * account has paid. SKIP LOCKED: a payment of an invoice created after `lockInvoicesOf` waits for the ledger accounts
 * that this transaction holds, so waiting for it would deadlock.
 */
export const cancelInvoicesOf: OnAccountClosing = async (tx, accountId, parts) => {
  const { rows } = await tx.query<{ id: string }>(
    `UPDATE invoices SET status = 'cancelled', cancelled_at = clock_timestamp()
      WHERE id = ANY (ARRAY(${pendingOf} ORDER BY id FOR UPDATE SKIP LOCKED)) RETURNING id`,
    [accountId],
  );
  const { rows: held } = await tx.query<{ id: string }>(`${pendingOf} ORDER BY id LIMIT 100`, [accountId]);
  if (held.length > 0) {
    const underWay = held.map(({ id }) => ({ kind: 'invoice', id }));
    throw accountErrors.account_busy('An invoice of this account is being paid. Try again in a moment.', {
      members: { underWay },
    });
  }
  await tx.query(
    "UPDATE invoices SET to_email = NULL WHERE to_account_id = $1 AND status = 'paid' AND to_email IS NOT NULL",
    [accountId],
  );
  for (const { id } of await heardOf(tx, rows)) {
    await recordInvoiceEvent(tx, parts, 'invoice.cancelled', await findInvoice(tx, id, accountId));
  }
};

/** Anyone can send any number of invoices, so closing records events only where a webhook subscribes. */
async function heardOf(tx: Transaction, cancelled: readonly { readonly id: string }[]) {
  const { rows } = await tx.query<{ id: string }>(
    `SELECT i.id FROM invoices i WHERE i.id = ANY ($1) AND EXISTS (
       SELECT FROM ledger.event_subscriptions s
        WHERE s.type = 'invoice.cancelled' AND s.account_id IN (i.from_account_id, i.to_account_id))`,
    [cancelled.map(({ id }) => id)],
  );
  return rows;
}

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
