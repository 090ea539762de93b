import type { Clock } from '../../kernel/clock.ts';
import type { Database, Queryable, Transaction } from '../../kernel/db/database.ts';
import type { RunOnce } from '../../ledger/idempotency.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { type Amount, amountOf, type Stored } from '../../money/amount.ts';
import { invoiceErrors } from './errors.ts';

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
  const [invoice] = await selectInvoices(db, 'WHERE i.page_token = $1', [token]);
  if (invoice === undefined) return undefined;
  const { id, status, fromHandle, fromName, amount, description, dueAt, overdue } = invoice;
  const { createdAt, paidAt, cancelledAt } = invoice;
  return { id, status, fromHandle, fromName, amount, description, dueAt, overdue, createdAt, paidAt, cancelledAt };
}

export interface InvoiceParts {
  readonly db: Database;
  readonly once: RunOnce;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** A function, because the port is known only once the server listens. */
  readonly publicUrl: () => string;
}

/** For each state, the allowed steps and the state they lead to. A database trigger refuses any other step. */
export const invoiceStates = {
  pending: { pay: 'paid', cancel: 'cancelled' },
  /** The transfer is posted in the same commit. */
  paid: {},
  cancelled: {},
} as const satisfies Record<string, Partial<Record<InvoiceStep, string>>>;

type InvoiceStep = 'pay' | 'cancel';

export type InvoiceStatus = keyof typeof invoiceStates;

export const invoiceStatuses = Object.keys(invoiceStates) as [InvoiceStatus, ...InvoiceStatus[]];

export interface Invoice {
  readonly id: string;
  readonly status: InvoiceStatus;
  readonly senderId: bigint;
  readonly fromHandle: string;
  readonly fromName: string;
  /** The account that paid, or that may pay now. Null while no account has verified the email it was sent to. */
  readonly recipientId: bigint | null;
  /** Null until an invoice to an email is paid, so that its sender does not learn whose email it is. */
  readonly toHandle: string | null;
  readonly toEmail: string | null;
  readonly amount: Amount;
  readonly description: string;
  readonly dueAt: Date | null;
  readonly overdue: boolean;
  readonly pageToken: string;
  readonly transferId: string | null;
  readonly createdAt: Date;
  readonly paidAt: Date | null;
  readonly cancelledAt: Date | null;
}

/** The list filter uses the same expression, so both always agree. */
export const isOverdue = `(i.status = 'pending' AND coalesce(i.due_at < now(), false))`;

/** An unverified email may belong to another person, so it gives no access. */
export const emailOf = (account: string) =>
  `(SELECT m.email FROM accounts m WHERE m.id = ${account} AND m.email_verified_at IS NOT NULL)`;

export async function selectInvoices(db: Queryable, where: string, values: readonly unknown[]): Promise<Invoice[]> {
  const { rows } = await db.query<Stored<Invoice, 'amount'>>(
    `SELECT i.id, i.status, i.from_account_id AS sender_id, s.handle AS from_handle, s.name AS from_name,
        coalesce(i.to_account_id,
          (SELECT m.id FROM accounts m WHERE m.email = i.to_email AND m.email_verified_at IS NOT NULL)) AS recipient_id,
        r.handle AS to_handle, i.to_email, i.asset, i.atomic AS amount, i.description, i.due_at, ${isOverdue} AS overdue,
        i.page_token, i.transfer_id, i.created_at, i.paid_at, i.cancelled_at
      FROM invoices i JOIN accounts s ON s.id = i.from_account_id LEFT JOIN accounts r ON r.id = i.to_account_id ${where}`,
    values,
  );
  return rows.map(({ asset, ...row }) => ({ ...row, amount: amountOf(asset, row.amount) }));
}

/** Only the sender and the recipient see an invoice. $1 is the invoice, $2 the account. */
const seenBy = `i.id = $1 AND (i.from_account_id = $2 OR i.to_account_id = $2
  OR (i.to_account_id IS NULL AND i.to_email = ${emailOf('$2')}))`;

export async function findInvoice(db: Queryable, id: string, accountId: bigint): Promise<Invoice> {
  const [invoice] = await selectInvoices(db, `WHERE ${seenBy}`, [id, accountId]);
  if (invoice === undefined) throw invoiceErrors.invoice_not_found();
  return invoice;
}

/**
 * Locks the row until the transaction ends, so that concurrent payments and cancellations run one after the other. A
 * separate statement reads the row after the lock, to see the latest committed state.
 */
export async function lockInvoice(tx: Transaction, id: string, accountId: bigint): Promise<Invoice> {
  await tx.query(`SELECT FROM invoices i WHERE ${seenBy} FOR UPDATE`, [id, accountId]);
  return findInvoice(tx, id, accountId);
}

export function refuseUnlessPossible({ status }: Invoice, step: InvoiceStep): void {
  if (step in invoiceStates[status]) return;
  throw status === 'paid' ? invoiceErrors.invoice_already_paid() : invoiceErrors.invoice_already_cancelled();
}
