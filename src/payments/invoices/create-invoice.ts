import { explainNotFound, findAccount } from '../../accounts/find-account.ts';
import { countToday } from '../../kernel/daily-caps/count-today.ts';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { newId, randomBase62 } from '../../kernel/ids/ids.ts';
import { requireLiveKey } from '../../ledger/require-live-key.ts';
import type { Amount } from '../../money/amount.ts';
import { transferErrors } from '../transfers/errors.ts';
import { invoiceErrors } from './errors.ts';
import { findInvoice, type Invoice, type InvoiceParts, pageTokenLength } from './invoice.ts';
import { recordInvoiceEvent } from './response.ts';

export type InvoiceRecipient = { readonly handle: string } | { readonly email: string };

export interface NewInvoice {
  readonly caller: Caller;
  readonly to: InvoiceRecipient;
  readonly amount: Amount;
  readonly description: string;
  readonly dueAt: Date | undefined;
}

export async function createInvoice(
  tx: Transaction,
  parts: InvoiceParts,
  { caller, to, amount, description, dueAt }: NewInvoice,
): Promise<Invoice> {
  if (dueAt !== undefined && dueAt.getTime() <= parts.clock.now()) {
    const message = 'must be in the future';
    throw httpErrors.invalid_request(`dueAt ${message}.`, { errors: [{ path: 'dueAt', message }] });
  }
  // An account that closes at the same time would leave an invoice that it can never cancel.
  await requireLiveKey(tx, caller);
  await refuseSelf(tx, caller, to);
  await countToday(tx, caller, 'invoices');
  const id = newId('inv');
  await tx.query(
    `INSERT INTO invoices (id, from_account_id, to_account_id, to_email, asset, atomic, description, due_at, page_token)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`,
    [
      id,
      caller.accountId,
      'handle' in to ? await ownerOf(tx, to.handle) : null,
      'email' in to ? to.email : null,
      amount.asset,
      amount.atomic,
      description,
      dueAt ?? null,
      randomBase62(pageTokenLength),
    ],
  );
  const invoice = await findInvoice(tx, id, caller.accountId);
  await recordInvoiceEvent(tx, parts, 'invoice.created', invoice);
  return invoice;
}

/** The caller's unverified email counts too: once verified, the invoice would be addressed to its own sender. */
async function refuseSelf(tx: Queryable, caller: Caller, to: InvoiceRecipient): Promise<void> {
  const { rowCount } = await tx.query('SELECT FROM accounts WHERE id = $1 AND (handle = $2 OR email = $3)', [
    caller.accountId,
    'handle' in to ? to.handle : null,
    'email' in to ? to.email : null,
  ]);
  if (rowCount !== 0) throw invoiceErrors.self_invoice();
}

/** The row lock keeps the account from closing. Emails are not checked, because the answer must not reveal accounts. */
async function ownerOf(tx: Transaction, handle: string): Promise<bigint> {
  const found = await findAccount(tx, { handle });
  const open =
    found && (await tx.query('SELECT FROM accounts WHERE id = $1 AND closed_at IS NULL FOR KEY SHARE', [found.id]));
  if (found === undefined || open?.rowCount !== 1)
    throw transferErrors.recipient_not_found(explainNotFound({ handle }));
  return found.id;
}
