import type { Queryable } from '../../kernel/db/database.ts';
import { emailOf, type Invoice, type InvoiceRow, isOverdue, selectInvoice, toInvoice } from './invoice.ts';
import type { InvoiceStatus } from './states.ts';

export interface InvoiceQuery {
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
export async function listInvoices(
  db: Queryable,
  { accountId, direction, status, overdue, limit, cursor }: InvoiceQuery,
): Promise<Invoice[]> {
  const { rows } = await db.query<InvoiceRow>(
    `${selectInvoice} WHERE i.id IN (${waysIn.join(' UNION ')}) ORDER BY i.id DESC LIMIT $5`,
    [
      accountId,
      cursor ?? null,
      status ?? null,
      overdue ?? null,
      limit + 1,
      direction !== 'received',
      direction !== 'sent',
    ],
  );
  return rows.map(toInvoice);
}
