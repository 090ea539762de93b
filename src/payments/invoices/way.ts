import { z } from 'zod';
import type { Queryable } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { type DuplicateGuard, notDuplicateOf } from '../../kernel/http/duplicate-guard.ts';
import { idParameter } from '../../kernel/http/find-route.ts';
import { newestTransferLike } from '../../ledger/newest-like.ts';
import { homeChain } from '../../money/catalogue.ts';
import { note } from '../../policies/approvals/asks.ts';
import { guarded, type Payment } from '../../policies/consent.ts';
import type { Way } from '../../policies/way.ts';
import { describe, transferFacts } from '../transfers/way.ts';
import { invoiceErrors } from './errors.ts';
import { findInvoice, type Invoice, refuseUnlessPossible } from './invoice.ts';

export const invoiceParams = z.strictObject({ id: idParameter });

/** An empty object is no body. */
export const payBody = z
  .strictObject({ note, notDuplicateOf })
  .optional()
  .transform((body) => (body?.note === undefined && body?.notDuplicateOf === undefined ? undefined : body));

export function refuseUnlessPayable(invoice: Invoice, { accountId }: Pick<Caller, 'accountId'>): void {
  const { senderId, recipientId } = invoice;
  if (recipientId !== accountId || senderId === accountId) throw invoiceErrors.not_invoice_recipient();
  refuseUnlessPossible(invoice, 'pay');
}

/** The amount and the sender of an invoice never change, so they can be judged before its row is locked. */
export async function readPayment(
  db: Queryable,
  caller: Caller,
  { id, guard }: { readonly id: string; readonly guard?: DuplicateGuard | undefined },
): Promise<Payment> {
  const invoice = await findInvoice(db, id, caller.accountId);
  refuseUnlessPayable(invoice, caller);
  const { amount, senderId, description } = invoice;
  const like = { senderId: caller.accountId, recipientId: senderId, amount, hasReference: true };
  const payment: Payment = {
    operation: 'invoice',
    amount,
    counterparty: { kind: 'account', accountId: senderId },
    chains: [homeChain],
    facts: () => [
      { label: 'Invoice', text: id },
      ...transferFacts(amount),
      ...(description === null ? [] : [describe(description)]),
    ],
  };
  return guarded(payment, { db, guard, newest: () => newestTransferLike(db, like) });
}

export const payRefusals = [
  invoiceErrors.invoice_not_found,
  invoiceErrors.not_invoice_recipient,
  invoiceErrors.invoice_already_paid,
  invoiceErrors.invoice_already_cancelled,
];

export function invoiceWay(db: Queryable): Way<typeof invoiceParams> {
  return {
    operation: 'invoice',
    scope: 'pay',
    body: invoiceParams,
    refusals: payRefusals,
    read: async (caller, { id }) => ({ payment: await readPayment(db, caller, { id }) }),
  };
}
