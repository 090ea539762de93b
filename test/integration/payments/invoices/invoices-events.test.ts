import { beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../../src/kernel/clock.ts';
import { scopes } from '../../../../src/kernel/http/define-route.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { type LedgerEvent, setSubscriptions, takeEvents } from '../../../../src/ledger/events.ts';
import { createOnce } from '../../../../src/ledger/idempotency.ts';
import { createLedger } from '../../../../src/ledger/ledger.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { cancelInvoice } from '../../../../src/payments/invoices/cancel-invoice.ts';
import { createInvoice } from '../../../../src/payments/invoices/create-invoice.ts';
import { payInvoice } from '../../../../src/payments/invoices/routes.ts';
import { noPolicies } from '../../../support/consent.ts';
import { useDatabase } from '../../../support/database.ts';
import { createOwners, fund } from '../../../support/ledger.ts';

const { db } = useDatabase();
const ledger = createLedger({ db, logger: createLogger('silent') });
const parts = { db, ledger, once: createOnce(db), clock: systemClock, publicUrl: () => 'https://pay.example' };

const everything = ['invoice.created', 'invoice.paid', 'invoice.cancelled', 'payment.sent', 'payment.received'];

async function callerWith(atomic: bigint) {
  const [owner] = await createOwners(db, 1);
  if (owner === undefined) throw new Error('nobody was created');
  if (atomic > 0n) await fund(ledger, [owner], atomic);
  await db.transaction((tx) => setSubscriptions(tx, owner.id, everything));
  const { rows } = await db.query<{ handle: string; email: string }>(
    'SELECT handle, email FROM accounts WHERE id = $1',
    [owner.id],
  );
  const { handle = '', email = '' } = rows[0] ?? {};
  return { accountId: owner.id, keyId: owner.keyId, handle, email, tier: 'free' as const, scopes, bucket: 'x' };
}
type Someone = Awaited<ReturnType<typeof callerWith>>;

let sender: Someone;
let payer: Someone;
beforeAll(async () => {
  [sender, payer] = [await callerWith(0n), await callerWith(10_000_000n)];
});

const ask = (to: { handle: string } | { email: string }, atomic = 4_000_000n) =>
  db.transaction((tx) =>
    createInvoice(tx, parts, {
      caller: sender,
      to,
      amount: amountOf('USDC', atomic),
      description: 'Lunch',
      dueAt: undefined,
    }),
  );
const pay = (caller: Someone, id: string) =>
  db.transaction((tx) => payInvoice(tx, parts, { caller, id, authority: noPolicies }));
const cancel = (id: string) => db.transaction((tx) => cancelInvoice(tx, parts, { caller: sender, id }));

/** Who was told what since the last time. */
async function told(): Promise<string[]> {
  const events = await db.transaction((tx) => takeEvents(tx, { most: 100, feeds: true }));
  return events.map(line).sort();
}
const line = ({ accountId, type, data, posting }: LedgerEvent) => {
  const invoice = data as { status: string; direction: string; transferId: string | null } | null;
  const who = accountId === sender.accountId ? 'sender' : accountId === payer.accountId ? 'payer' : 'somebody';
  return `${who} ${type} ${invoice === null ? posting?.id : `${invoice.direction} ${invoice.status} ${invoice.transferId}`}`;
};

test('both sides are told of an invoice to a handle, each from their side', async () => {
  const { id } = await ask({ handle: payer.handle });
  expect(await told()).toEqual([
    'payer invoice.created received pending null',
    'sender invoice.created sent pending null',
  ]);
  const { transferId } = await pay(payer, id);
  expect(await told()).toEqual([
    `payer invoice.paid received paid ${transferId}`,
    `payer payment.sent ${transferId}`,
    `sender invoice.paid sent paid ${transferId}`,
    `sender payment.received ${transferId}`,
  ]);
  const other = await ask({ handle: payer.handle });
  await told();
  await cancel(other.id);
  expect(await told()).toEqual([
    'payer invoice.cancelled received cancelled null',
    'sender invoice.cancelled sent cancelled null',
  ]);
});

test('an event is the invoice as its reader would get it', async () => {
  const { id, pageToken } = await ask({ handle: payer.handle });
  const events = await db.transaction((tx) => takeEvents(tx, { most: 100, feeds: true }));
  expect(events.find(({ accountId }) => accountId === payer.accountId)?.data).toEqual({
    id,
    status: 'pending',
    direction: 'received',
    fromHandle: sender.handle,
    fromName: expect.any(String),
    toHandle: payer.handle,
    toEmail: null,
    amount: 4,
    currency: 'USDC',
    description: 'Lunch',
    dueAt: null,
    overdue: false,
    createdAt: expect.any(String),
    paidAt: null,
    cancelledAt: null,
    transferId: null,
    pageUrl: `https://pay.example/invoice/${pageToken}`,
  });
});

test('of an invoice to an email its reader is told only once that email is verified', async () => {
  const { id } = await ask({ email: payer.email });
  expect(await told()).toEqual(['sender invoice.created sent pending null']);
  await db.query('UPDATE accounts SET email_verified_at = now() WHERE id = $1', [payer.accountId]);
  await ask({ email: payer.email });
  expect(await told()).toEqual([
    'payer invoice.created received pending null',
    'sender invoice.created sent pending null',
  ]);
  const { transferId } = await pay(payer, id);
  expect(await told()).toContain(`payer invoice.paid received paid ${transferId}`);
});

test('nobody is told of what did not happen', async () => {
  const { id } = await ask({ handle: payer.handle }, 999_000_000n);
  await told();
  await expect(pay(payer, id)).rejects.toMatchObject({ code: 'insufficient_balance' });
  await expect(pay(sender, id)).rejects.toMatchObject({ code: 'not_invoice_recipient' });
  await expect(ask({ handle: 'PA-ZZZZZZZZ' })).rejects.toMatchObject({ code: 'recipient_not_found' });
  await cancel(id);
  await told();
  await expect(cancel(id)).rejects.toMatchObject({ code: 'invoice_already_cancelled' });
  expect(await told()).toEqual([]);
});

test('a connection that dies before the commit leaves the invoice pending and the money where it was', async () => {
  const { id } = await ask({ handle: payer.handle }, 1_000_000n);
  await told();
  await expect(
    db.transaction(async (tx) => {
      await payInvoice(tx, parts, { caller: payer, id, authority: noPolicies });
      await tx.query('SELECT pg_terminate_backend(pg_backend_pid())');
    }),
  ).rejects.toThrow();
  expect(await told()).toEqual([]);
  const { rows } = await db.query("SELECT FROM ledger.postings WHERE reference = 'invoice:' || $1", [id]);
  expect(rows).toEqual([]);
  expect((await pay(payer, id)).status).toBe('paid');
});
