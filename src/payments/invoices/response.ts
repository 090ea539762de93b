import { z } from 'zod';
import type { Transaction } from '../../kernel/db/database.ts';
import { currency } from '../../kernel/http/amount-field.ts';
import { untrusted } from '../../kernel/http/untrusted.ts';
import { recordEvent } from '../../ledger/events.ts';
import { toJsonNumber } from '../../money/amount.ts';
import type { Currency } from '../../money/catalogue.ts';
import { type Invoice, type InvoiceParts, invoiceStatuses } from './invoice.ts';

/** From the view of one party, in responses and events. */
export const invoiceResponse = z.object({
  id: z.string(),
  status: z.enum(invoiceStatuses),
  direction: z.enum(['sent', 'received']),
  fromHandle: z.string().meta({ description: 'The handle of the sender, who is to be paid.' }),
  fromName: untrusted,
  toHandle: z.string().nullable().meta({
    description: 'The handle of the recipient. For an invoice to an email: the payer, null until it is paid.',
  }),
  toEmail: z
    .string()
    .nullable()
    .meta({ description: 'Null if the invoice was sent to a handle, or if its payer has closed their account.' }),
  amount: z.number().meta({ description: 'The amount the payer pays. The sender receives it minus the transfer fee.' }),
  currency,
  description: untrusted,
  dueAt: z.iso.datetime().nullable(),
  overdue: z.boolean().meta({ description: 'Whether the invoice is pending and past `dueAt`. It can still be paid.' }),
  createdAt: z.iso.datetime(),
  paidAt: z.iso.datetime().nullable(),
  cancelledAt: z.iso.datetime().nullable(),
  transferId: z.string().nullable().meta({ description: 'The transfer that paid it.' }),
  pageUrl: z.url().meta({ description: 'A web page for this invoice. Anyone with the URL can open it.' }),
});

type InvoiceAnswer = z.input<typeof invoiceResponse>;

export const exampleInvoice = {
  id: 'inv_01kp3v2m8rfk2s6y0e6v9q4w1x',
  status: 'pending',
  direction: 'sent',
  fromHandle: 'PA-7K2M9QXA',
  fromName: 'Ada',
  toHandle: 'PA-3F8T1ZWC',
  toEmail: null,
  amount: 50,
  currency: 'USDC',
  description: 'Research, 2 hours',
  dueAt: '2026-02-01T12:00:00.000Z',
  overdue: false,
  createdAt: '2026-01-15T10:00:00.000Z',
  paidAt: null,
  cancelledAt: null,
  transferId: null,
  pageUrl: 'https://pay.example/invoice/4fKq0ZtR7nXv2bLmW9cYsD1e',
} as const satisfies InvoiceAnswer;

export const examplePaid = {
  ...exampleInvoice,
  status: 'paid',
  direction: 'received',
  paidAt: '2026-01-16T08:30:00.000Z',
  transferId: 'trf_01kp3v2m8rfk2s6y0e6v9q4w1x',
} as const satisfies InvoiceAnswer;

export function describeInvoice(invoice: Invoice, viewerId: bigint, publicUrl: string): InvoiceAnswer {
  return {
    id: invoice.id,
    status: invoice.status,
    direction: invoice.senderId === viewerId ? 'sent' : 'received',
    fromHandle: invoice.fromHandle,
    fromName: invoice.fromName,
    toHandle: invoice.toHandle,
    toEmail: invoice.toEmail,
    amount: toJsonNumber(invoice.amount),
    currency: invoice.amount.asset as Currency,
    description: invoice.description,
    dueAt: invoice.dueAt?.toISOString() ?? null,
    overdue: invoice.overdue,
    createdAt: invoice.createdAt.toISOString(),
    paidAt: invoice.paidAt?.toISOString() ?? null,
    cancelledAt: invoice.cancelledAt?.toISOString() ?? null,
    transferId: invoice.transferId,
    pageUrl: `${publicUrl}/invoice/${invoice.pageToken}`,
  };
}

/** Both parties get the event, each from its own view. The recipient of an unverified email has no account yet. */
export async function recordInvoiceEvent(
  tx: Transaction,
  { publicUrl }: Pick<InvoiceParts, 'publicUrl'>,
  type: 'invoice.created' | 'invoice.paid' | 'invoice.cancelled',
  invoice: Invoice,
): Promise<void> {
  for (const accountId of new Set([invoice.senderId, invoice.recipientId])) {
    if (accountId === null) continue;
    await recordEvent(tx, { accountId, type, data: describeInvoice(invoice, accountId, publicUrl()) });
  }
}
