import type { Queryable } from '../../kernel/db/database.ts';
import type { Amount } from '../../money/amount.ts';
import { type InvoiceRow, selectInvoice, toInvoice } from './invoice.ts';
import type { InvoiceStatus } from './states.ts';

/** Letters and digits of an address that nobody guesses: 142 bits. */
export const pageTokenLength = 24;

/** What the page of an invoice shows to whoever has its address, and no more: neither email nor who is asked. */
export interface InvoicePageView {
  readonly id: string;
  readonly status: InvoiceStatus;
  readonly fromHandle: string;
  readonly fromName: string;
  readonly amount: Amount;
  readonly description: string;
  readonly dueAt: Date | null;
  readonly overdue: boolean;
  readonly createdAt: Date;
  readonly paidAt: Date | null;
  readonly cancelledAt: Date | null;
}

export async function findPageView(db: Queryable, token: string): Promise<InvoicePageView | undefined> {
  if (token.length !== pageTokenLength || !/^[0-9A-Za-z]+$/.test(token)) return undefined;
  const { rows } = await db.query<InvoiceRow>(`${selectInvoice} WHERE i.page_token = $1`, [token]);
  if (rows[0] === undefined) return undefined;
  const invoice = toInvoice(rows[0]);
  return {
    id: invoice.id,
    status: invoice.status,
    fromHandle: invoice.fromHandle,
    fromName: invoice.fromName,
    amount: invoice.amount,
    description: invoice.description,
    dueAt: invoice.dueAt,
    overdue: invoice.overdue,
    createdAt: invoice.createdAt,
    paidAt: invoice.paidAt,
    cancelledAt: invoice.cancelledAt,
  };
}
