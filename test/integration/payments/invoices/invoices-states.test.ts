import { beforeAll, describe, expect, test } from 'vitest';
import { type InvoiceStatus, invoiceStates, invoiceStatuses } from '../../../../src/payments/invoices/invoice.ts';
import { useDatabase } from '../../../support/database.ts';
import { createOwners } from '../../../support/ledger.ts';

const { db } = useDatabase();

let from: bigint;
let to: bigint;
let other: bigint;
beforeAll(async () => {
  [from, to, other] = (await createOwners(db, 3)).map(({ id }) => id) as [bigint, bigint, bigint];
});

let count = 0;

const stamps = (status: InvoiceStatus) => [
  status === 'paid' ? `trf_${++count}` : null,
  status === 'paid' ? new Date() : null,
  status === 'cancelled' ? new Date() : null,
];

async function invoiceIn(status: InvoiceStatus): Promise<string> {
  const id = `inv_${++count}`;
  await db.query(
    `INSERT INTO invoices (id, from_account_id, to_account_id, to_email, asset, atomic, description, page_token, status,
         transfer_id, paid_at, cancelled_at)
       VALUES ($1, $2, $3, 'x@example.com', 'USDC', 5, 'Lunch', lpad($1, 24, 'x'), $4, $5, $6, $7)`,
    [id, from, status === 'paid' ? to : null, status, ...stamps(status)],
  );
  return id;
}

const move = (id: string, status: InvoiceStatus, payer: bigint | null = status === 'paid' ? to : null) =>
  db.query(
    `UPDATE invoices SET status = $2, transfer_id = $3, paid_at = $4, cancelled_at = $5,
         to_account_id = coalesce(to_account_id, $6) WHERE id = $1`,
    [id, status, ...stamps(status), payer],
  );

describe.each(invoiceStatuses)('an invoice that is %s', (status) => {
  test.each(invoiceStatuses)('becomes %s only if the table says so', async (next) => {
    const id = await invoiceIn(status);
    const possible: readonly string[] = Object.values(invoiceStates[status]);
    if (possible.includes(next)) await move(id, next);
    else await expect(move(id, next)).rejects.toThrow(`invoice ${id} cannot go from ${status} to ${next}`);
  });
});

test.each([
  'atomic = 6',
  "asset = 'EURC'",
  "description = 'Dinner'",
  "due_at = now() + interval '1 day'",
  "to_email = 'y@example.com'",
  "page_token = repeat('y', 24)",
])('what was asked for never changes: %s', async (change) => {
  const id = await invoiceIn('pending');
  const all = `${change}, status = 'cancelled', cancelled_at = now()`;
  await expect(db.query(`UPDATE invoices SET ${all} WHERE id = $1`, [id])).rejects.toThrow('another one');
});

test('it is bound to whoever pays, once, and to nobody else', async () => {
  const id = await invoiceIn('pending');
  await expect(move(id, 'cancelled', to)).rejects.toThrow('another one');
  await expect(move(id, 'paid', from)).rejects.toThrow('check');
  await expect(move(id, 'paid', null)).rejects.toThrow('check');
  await move(id, 'paid', to);
  await expect(db.query('UPDATE invoices SET to_account_id = $2 WHERE id = $1', [id, other])).rejects.toThrow(
    'another one',
  );
});

test('a row says whom it is for, what it is about and when it ended', async () => {
  const insert = (columns: Record<string, unknown>) => {
    const row = {
      id: 'inv_x',
      from_account_id: from,
      to_account_id: to,
      asset: 'USDC',
      atomic: 5,
      description: 'Lunch',
      page_token: 'z'.repeat(24),
      ...columns,
    };
    const names = Object.keys(row);
    return db.query(
      `INSERT INTO invoices (${names.join(', ')}) VALUES (${names.map((_, index) => `$${index + 1}`).join(', ')})`,
      Object.values(row),
    );
  };
  for (const wrong of [
    { to_account_id: null },
    { to_account_id: from },
    { atomic: 0 },
    { description: '' },
    { page_token: 'short' },
    { status: 'lost' },
    { status: 'paid' },
    { status: 'paid', paid_at: new Date() },
    { status: 'cancelled' },
    { transfer_id: 'trf_x' },
    { to_email: 'X@example.com' },
  ]) {
    await expect(insert(wrong), JSON.stringify(Object.keys(wrong))).rejects.toThrow('check');
  }
  await insert({});
});
