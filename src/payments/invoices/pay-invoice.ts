import type { Transaction } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { newPostingId } from '../../ledger/posting-id.ts';
import { completeOrRefuse, transferPosting } from '../transfers/transfer-posting.ts';
import { recordInvoiceEvent } from './answer.ts';
import { invoiceErrors } from './errors.ts';
import { findInvoice, type Invoice, lockInvoice, refuseUnlessPossible } from './invoice.ts';
import type { InvoiceParts } from './parts.ts';

/**
 * Invoice, events and transfer are one commit, which the caller makes. The posting comes last because it locks
 * balances. If the ledger refuses, this throws and the invoice stays pending.
 */
export async function payInvoice(
  tx: Transaction,
  parts: InvoiceParts,
  { caller, id }: { readonly caller: Caller; readonly id: string },
): Promise<Invoice> {
  const { accountId, keyId } = caller;
  const invoice = await lockInvoice(tx, id, accountId);
  const { senderId, recipientId, amount, description } = invoice;
  if (recipientId !== accountId || senderId === accountId) throw invoiceErrors.not_invoice_recipient();
  refuseUnlessPossible(invoice, 'pay');

  const transferId = newPostingId();
  await tx.query(
    `UPDATE invoices SET status = 'paid', to_account_id = $2, transfer_id = $3, paid_at = clock_timestamp()
      WHERE id = $1`,
    [id, accountId, transferId],
  );
  const paid = await findInvoice(tx, id, accountId);
  await recordInvoiceEvent(tx, parts, 'invoice.paid', paid);
  const [outcome] = await parts.ledger.postWithin(tx, [
    {
      ...transferPosting({ senderId: accountId, recipientId: senderId, amount, keyId, description }),
      id: transferId,
      // A second guard behind the row lock: the ledger posts each reference once.
      reference: `invoice:${id}`,
      details: { invoiceId: id },
    },
  ]);
  if (outcome === undefined || completeOrRefuse(outcome).replayed)
    throw new Error(`the ledger already has a payment for invoice ${id}`);
  return paid;
}
