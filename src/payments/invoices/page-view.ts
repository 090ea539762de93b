import type { Queryable } from '../../kernel/db/database.ts';
import { type Invoice, type InvoiceRow, selectInvoice, toInvoice } from './invoice.ts';

/** 24 base62 characters: 142 bits, not guessable. */
export const pageTokenLength = 24;

/** What anyone with the page's URL may see. The email and the recipient are left out. */
export type InvoicePageView = Pick<
  Invoice,
  | 'id'
  | 'status'
  | 'fromHandle'
  | 'fromName'
  | 'amount'
  | 'description'
  | 'dueAt'
  | 'overdue'
  | 'createdAt'
  | 'paidAt'
  | 'cancelledAt'
>;

export async function findPageView(db: Queryable, token: string): Promise<InvoicePageView | undefined> {
  if (token.length !== pageTokenLength || !/^[0-9A-Za-z]+$/.test(token)) return undefined;
  const { rows } = await db.query<InvoiceRow>(`${selectInvoice} WHERE i.page_token = $1`, [token]);
  if (rows[0] === undefined) return undefined;
  const invoice = toInvoice(rows[0]);
  const { id, status, fromHandle, fromName, amount, description, dueAt, overdue } = invoice;
  const { createdAt, paidAt, cancelledAt } = invoice;
  return { id, status, fromHandle, fromName, amount, description, dueAt, overdue, createdAt, paidAt, cancelledAt };
}
