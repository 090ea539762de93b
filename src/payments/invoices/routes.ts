import { z } from 'zod';
import { email, handle, visibleText } from '../../accounts/fields.ts';
import { dailyCapErrors } from '../../kernel/daily-caps/count-today.ts';
import type { Queryable, ReadDatabase, Transaction } from '../../kernel/db/database.ts';
import { amountField, currency, requireAmount } from '../../kernel/http/amount-field.ts';
import { type Caller, created, defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import type { DuplicateGuard } from '../../kernel/http/duplicate-guard.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { findRoute } from '../../kernel/http/find-route.ts';
import { listRoute } from '../../kernel/http/list-route.ts';
import { askBefore } from '../../kernel/http/problem.ts';
import { dateTimeField, dateTimeFormats } from '../../kernel/http/read-moment.ts';
import { creates, moves, reads } from '../../kernel/http/tool.ts';
import { type Authority, newPostingId } from '../../ledger/posting.ts';
import { askedOwner } from '../../policies/approvals/asks.ts';
import type { Consent } from '../../policies/consent.ts';
import { paymentRefusals } from '../../policies/refusals.ts';
import { transferErrors } from '../transfers/errors.ts';
import { completeOrRefuse, transferPosting } from '../transfers/transfer-posting.ts';
import { cancelInvoice } from './cancel-invoice.ts';
import { createInvoice, type InvoiceRecipient } from './create-invoice.ts';
import { invoiceErrors } from './errors.ts';
import {
  emailOf,
  findInvoice,
  type Invoice,
  type InvoiceParts,
  type InvoiceStatus,
  invoiceStatuses,
  isOverdue,
  lockInvoice,
  selectInvoices,
} from './invoice.ts';
import { describeInvoice, exampleInvoice, examplePaid, invoiceResponse, recordInvoiceEvent } from './response.ts';
import { invoiceParams, payBody, payRefusals, readPayment, refuseUnlessPayable } from './way.ts';

interface InvoiceQuery {
  readonly accountId: bigint;
  readonly direction?: 'sent' | 'received' | undefined;
  readonly status?: InvoiceStatus | undefined;
  readonly overdue?: boolean | undefined;
  readonly limit: number;
  readonly cursor: string | undefined;
}

const filters = `($2::text IS NULL OR i.id < $2) AND ($3::text IS NULL OR i.status = $3)
  AND ($4::boolean IS NULL OR ${isOverdue} = $4)`;

/** One query per index: an account can be the sender, the recipient by handle, or the recipient by email. */
const waysIn = [
  `i.from_account_id = $1 AND $6`,
  `i.to_account_id = $1 AND $7`,
  `i.to_account_id IS NULL AND i.to_email = ${emailOf('$1')} AND $7`,
].map((way) => `(SELECT i.id FROM invoices i WHERE ${way} AND ${filters} ORDER BY i.id DESC LIMIT $5)`);

/** Newest first, and one more than the page holds. */
async function listInvoices(
  db: Queryable,
  { accountId, direction, status, overdue, limit, cursor }: InvoiceQuery,
): Promise<Invoice[]> {
  return selectInvoices(db, `WHERE i.id IN (${waysIn.join(' UNION ')}) ORDER BY i.id DESC LIMIT $5`, [
    accountId,
    cursor ?? null,
    status ?? null,
    overdue ?? null,
    limit + 1,
    direction !== 'received',
    direction !== 'sent',
  ]);
}

export interface InvoiceRouteParts extends InvoiceParts {
  readonly readDb: ReadDatabase;
  readonly consent: Consent;
}

export function invoiceRoutes(parts: InvoiceRouteParts): Route[] {
  return [createRoute(parts), historyRoute(parts), invoiceRoute(parts), payRoute(parts), cancelRoute(parts)];
}

const params = invoiceParams;
const examples = { params: { id: exampleInvoice.id } };

function createRoute(parts: InvoiceParts): Route {
  return defineRoute(
    {
      id: 'createInvoice',
      method: 'POST',
      path: '/invoices',
      tag: 'Invoices',
      summary: 'Create an invoice',
      tool: { name: 'create_invoice', title: 'Create an invoice', hints: creates },
      description:
        'Requests a payment from another user. Give exactly one of `toHandle` and `toEmail`. The email need not have an account yet: the invoice appears to the account that verifies it. The service sends no email, so send `pageUrl` to the recipient yourself.',
      auth: 'key',
      scope: 'pay',
      body: z.strictObject({
        toHandle: handle.optional(),
        toEmail: email.optional(),
        amount: amountField,
        currency,
        description: visibleText(500).meta({
          description: 'What the invoice is for. Both parties and the invoice page show it.',
        }),
        dueAt: dateTimeField.optional().meta({ description: `In the future. ${dateTimeFormats}` }),
      }),
      examples: {
        body: {
          toHandle: exampleInvoice.toHandle,
          amount: exampleInvoice.amount,
          currency: exampleInvoice.currency,
          description: exampleInvoice.description,
          dueAt: exampleInvoice.dueAt,
        },
      },
      idempotent: true,
      returns: { 201: { description: 'The invoice', schema: invoiceResponse, example: exampleInvoice } },
      errors: [transferErrors.recipient_not_found, invoiceErrors.self_invoice, dailyCapErrors.daily_cap_reached],
    },
    async ({ caller, body, idempotency }) => {
      const to = recipientOrRefuse(body);
      const amount = requireAmount(body.currency, body.amount);
      const { description, dueAt } = body;
      return parts.once({ caller, idempotency }, async (tx) => {
        const invoice = await createInvoice(tx, parts, { caller, to, amount, description, dueAt });
        return created(describeInvoice(invoice, caller.accountId, parts.publicUrl()));
      });
    },
  );
}

function recipientOrRefuse(body: { toHandle?: string | undefined; toEmail?: string | undefined }): InvoiceRecipient {
  const { toHandle, toEmail } = body;
  if (toHandle !== undefined && toEmail === undefined) return { handle: toHandle };
  if (toEmail !== undefined && toHandle === undefined) return { email: toEmail };
  const message = toHandle === undefined ? 'is required unless toEmail is given' : 'must not be combined with toEmail';
  throw httpErrors.invalid_request('Give exactly one of toHandle and toEmail.', {
    errors: [{ path: 'toHandle', message }],
  });
}

function historyRoute({ readDb, publicUrl }: InvoiceRouteParts): Route {
  return listRoute({
    id: 'listInvoices',
    path: '/invoices',
    tag: 'Invoices',
    summary: 'List invoices you sent or received',
    tool: { name: 'list_invoices', title: 'List invoices', hints: reads },
    name: 'invoices',
    item: invoiceResponse,
    example: exampleInvoice,
    filters: {
      direction: z.enum(['sent', 'received']).optional(),
      status: z.enum(invoiceStatuses).optional(),
      overdue: z
        .enum(['true', 'false'])
        .transform((text) => text === 'true')
        .optional()
        .meta({ description: '`true`: only overdue invoices. `false`: only the others.' }),
    },
    cursorPrefix: 'inv',
    rows: (query) => listInvoices(readDb, query),
    describe: (invoice, { accountId }) => describeInvoice(invoice, accountId, publicUrl()),
  });
}

function invoiceRoute({ db, publicUrl }: InvoiceParts): Route {
  return findRoute({
    id: 'getInvoice',
    path: '/invoices/:id',
    tag: 'Invoices',
    summary: 'Retrieve an invoice you sent or received',
    returns: 'The invoice',
    final: ['paid', 'cancelled'],
    item: invoiceResponse,
    example: exampleInvoice,
    notFound: invoiceErrors.invoice_not_found,
    find: async (id, { accountId }) => describeInvoice(await findInvoice(db, id, accountId), accountId, publicUrl()),
  });
}

function payRoute(parts: InvoiceRouteParts): Route {
  return defineRoute(
    {
      id: 'payInvoice',
      method: 'POST',
      path: '/invoices/:id/pay',
      tag: 'Invoices',
      summary: 'Pay an invoice',
      tool: { name: 'pay_invoice', title: 'Pay an invoice', hints: moves },
      description:
        'Transfers the amount, minus the transfer fee, to the sender of the invoice. The transfer and the status change happen atomically and are complete when the response arrives. An overdue invoice can still be paid.',
      auth: 'key',
      scope: 'pay',
      params,
      body: payBody,
      examples: { ...examples, body: { note: 'The invoice of last week.' } },
      idempotent: true,
      guarded: true,
      returns: { 200: { description: 'The paid invoice', schema: invoiceResponse, example: examplePaid } },
      asks: askedOwner,
      errors: [...payRefusals, ...paymentRefusals],
    },
    async ({ caller, params: { id }, idempotency, guard }) => {
      const authority = await askBefore(async () =>
        parts.consent.forPayment(caller, await readPayment(parts.db, caller, { id, guard })),
      );
      return parts.once({ caller, idempotency, kind: 'invoice payments' }, async (tx) => {
        const invoice = await payInvoice(tx, parts, { caller, id, authority: authority(), guard });
        return ok(describeInvoice(invoice, caller.accountId, parts.publicUrl()));
      });
    },
  );
}

function cancelRoute(parts: InvoiceParts): Route {
  return defineRoute(
    {
      id: 'cancelInvoice',
      method: 'POST',
      path: '/invoices/:id/cancel',
      tag: 'Invoices',
      summary: 'Cancel an invoice you sent',
      description: 'Only a pending invoice can be cancelled.',
      auth: 'key',
      scope: 'pay',
      params,
      examples,
      idempotent: true,
      returns: {
        200: {
          description: 'The cancelled invoice',
          schema: invoiceResponse,
          example: { ...exampleInvoice, status: 'cancelled', cancelledAt: '2026-01-16T08:30:00.000Z' },
        },
      },
      errors: [
        invoiceErrors.invoice_not_found,
        invoiceErrors.not_invoice_sender,
        invoiceErrors.invoice_already_paid,
        invoiceErrors.invoice_already_cancelled,
      ],
    },
    async ({ caller, params: { id }, idempotency }) =>
      parts.once({ caller, idempotency }, async (tx) => {
        const invoice = await cancelInvoice(tx, parts, { caller, id });
        return ok(describeInvoice(invoice, caller.accountId, parts.publicUrl()));
      }),
  );
}

interface InvoicePayment {
  readonly caller: Caller;
  readonly id: string;
  readonly authority: Authority;
  readonly guard?: DuplicateGuard | undefined;
}

/**
 * Invoice, events and transfer are one commit, which the caller makes. The posting comes last because it locks
 * balances. If the ledger refuses, this throws and the invoice stays pending.
 */
export async function payInvoice(
  tx: Transaction,
  parts: InvoiceParts,
  { caller, id, authority, guard }: InvoicePayment,
): Promise<Invoice> {
  const { accountId, keyId } = caller;
  const invoice = await lockInvoice(tx, id, accountId);
  refuseUnlessPayable(invoice, caller);
  const { senderId, amount, description } = invoice;

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
      ...transferPosting({ senderId: accountId, recipientId: senderId, amount, keyId, authority, description, guard }),
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
