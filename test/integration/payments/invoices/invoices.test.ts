import { beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { verifyLedger } from '../../../../src/ledger/verify.ts';
import type { TestAccount } from '../../../support/client.ts';
import { useInvoices } from '../../../support/invoices.ts';
import { useService } from '../../../support/service.ts';

const service = useService();
const { funded, ask, pay, cancel, see, list, balanceOf } = useInvoices(() => service.client);

const tomorrow = () => new Date(Date.now() + 86_400_000).toISOString();

/** Time passes only for the invoice: what is asked for cannot be changed, not even its date. */
async function letPass(id: string): Promise<void> {
  await service.database.db.transaction(async (tx) => {
    await tx.query('ALTER TABLE invoices DISABLE TRIGGER invoices_guard');
    await tx.query("UPDATE invoices SET due_at = now() - interval '1 second' WHERE id = $1", [id]);
    await tx.query('ALTER TABLE invoices ENABLE TRIGGER invoices_guard');
  });
}

let ada: TestAccount;
let grace: TestAccount;
let stranger: TestAccount;
beforeAll(async () => {
  [ada, grace, stranger] = await Promise.all([
    service.client.register({ name: 'Ada' }),
    funded(1_000),
    service.client.register(),
  ]);
});

describe('an invoice to a handle', () => {
  test('is pending, and both sides see the same, each from their side', async () => {
    const dueAt = tomorrow();
    const { status, body } = await ask(ada, { toHandle: grace.handle.toLowerCase() }, { amount: 12.5, dueAt });
    expect(status).toBe(201);
    expect(body).toEqual({
      id: expect.stringMatching(/^inv_[0-9a-z]{26}$/),
      status: 'pending',
      direction: 'sent',
      fromHandle: ada.handle,
      fromName: 'Ada',
      toHandle: grace.handle,
      toEmail: null,
      amount: 12.5,
      currency: 'USDC',
      description: 'Lunch',
      dueAt,
      overdue: false,
      createdAt: expect.any(String),
      paidAt: null,
      cancelledAt: null,
      transferId: null,
      pageUrl: expect.stringMatching(new RegExp(`^${service.url}/invoice/[0-9A-Za-z]{24}$`)),
    });
    expect((await see(ada, body.id)).body).toEqual(body);
    expect((await see(grace, body.id)).body).toEqual({ ...body, direction: 'received' });
    expect((await list(grace))[0]).toEqual({ ...body, direction: 'received' });
    expect((await list(ada))[0]).toEqual(body);
  });

  test('is paid by one transfer: money, invoice and history agree', async () => {
    const [sender, payer] = [await service.client.register({ name: 'Sender' }), await funded(60)];
    const { id } = (await ask(sender, { toHandle: payer.handle }, { amount: 50, description: 'Two hours' })).body;
    const { status, body } = await pay(payer, id);
    expect(status).toBe(200);
    expect(body).toMatchObject({ id, status: 'paid', direction: 'received', overdue: false, cancelledAt: null });
    expect(body.transferId).toMatch(/^trf_[0-9a-z]{26}$/);
    expect(Math.abs(Date.parse(body.paidAt) - Date.now())).toBeLessThan(60_000);
    expect((await see(sender, id)).body).toEqual({ ...body, direction: 'sent' });
    expect(await balanceOf(payer)).toMatchObject({ USDC: '10', EURC: '0' });
    expect(await balanceOf(sender)).toMatchObject({ USDC: '49.25', EURC: '0' });
    const [received] = (await service.client.get('/circle/transfers', sender.key)).body.transfers;
    expect(received).toMatchObject({
      transferId: body.transferId,
      type: 'transfer',
      direction: 'received',
      amount: 50,
      fee: 0.75,
      description: 'Two hours',
      counterparty: { handle: payer.handle },
    });
  });

  test('in EURC is paid in EURC', async () => {
    const payer = await funded(5, 'EURC');
    const { id } = (await ask(ada, { toHandle: payer.handle }, { amount: 5, currency: 'EURC' })).body;
    expect((await pay(payer, id)).body).toMatchObject({ status: 'paid', currency: 'EURC', amount: 5 });
    expect(await balanceOf(payer)).toMatchObject({ USDC: '0', EURC: '0' });
  });

  test('is paid once: again is 409, and so is cancelling it', async () => {
    const { id } = (await ask(ada, { toHandle: grace.handle }, { amount: 1 })).body;
    const first = await pay(grace, id);
    const before = await balanceOf(grace);
    for (const reply of [await pay(grace, id), await cancel(ada, id)]) {
      expect([reply.status, reply.body.code]).toEqual([409, 'invoice_already_paid']);
    }
    expect(await balanceOf(grace)).toEqual(before);
    expect((await see(grace, id)).body).toEqual(first.body);
  });

  test('is cancelled by its sender, and can be neither paid nor cancelled afterwards', async () => {
    const { id } = (await ask(ada, { toHandle: grace.handle })).body;
    const before = await balanceOf(grace);
    const { status, body } = await cancel(ada, id);
    expect([status, body.status, body.transferId, body.paidAt]).toEqual([200, 'cancelled', null, null]);
    expect(body.cancelledAt).toEqual(expect.any(String));
    for (const reply of [await pay(grace, id), await cancel(ada, id)]) {
      expect([reply.status, reply.body.code]).toEqual([409, 'invoice_already_cancelled']);
    }
    expect(await balanceOf(grace)).toEqual(before);
  });

  test('is not there for a stranger, and each side does only what is theirs', async () => {
    const { id } = (await ask(ada, { toHandle: grace.handle })).body;
    for (const reply of [await see(stranger, id), await pay(stranger, id), await cancel(stranger, id)]) {
      expect([reply.status, reply.body.code]).toEqual([404, 'invoice_not_found']);
    }
    expect(await list(stranger)).toEqual([]);
    const [paid, cancelled] = [await pay(ada, id), await cancel(grace, id)];
    expect([paid.status, paid.body.code]).toEqual([403, 'not_invoice_recipient']);
    expect([cancelled.status, cancelled.body.code]).toEqual([403, 'not_invoice_sender']);
    expect((await see(ada, id)).body.status).toBe('pending');
    for (const path of ['', '/pay', '/cancel']) {
      const reply = await service.client.request(path === '' ? 'GET' : 'POST', `/invoices/${id}${path}`);
      expect([reply.status, reply.body.code]).toEqual([401, 'unauthorized']);
    }
  });

  test('stays pending when the balance does not cover it, and can be paid after funding', async () => {
    const payer = await funded(1);
    const { id } = (await ask(ada, { toHandle: payer.handle }, { amount: 1.000001 })).body;
    const refused = await pay(payer, id, { 'idempotency-key': 'k' });
    expect([refused.status, refused.body.code]).toEqual([400, 'insufficient_balance']);
    expect((await see(ada, id)).body).toMatchObject({ status: 'pending', transferId: null, paidAt: null });
    expect(await balanceOf(payer)).toMatchObject({ USDC: '1', EURC: '0' });
    await service.client.post('/sandbox/fund', { amount: 1 }, payer.key);
    expect((await pay(payer, id, { 'idempotency-key': 'k' })).body.status).toBe('paid');
  });

  test('a frozen account does not pay, but is paid', async () => {
    const [sender, payer] = [await service.client.register(), await funded(10)];
    const { id } = (await ask(sender, { toHandle: payer.handle }, { amount: 5 })).body;
    const freeze = (handle: string, at: Date | null) =>
      service.database.db.query('UPDATE accounts SET frozen_at = $2 WHERE handle = $1', [handle, at]);
    await freeze(payer.handle, new Date());
    const refused = await pay(payer, id);
    expect([refused.status, refused.body.code]).toEqual([403, 'account_frozen']);
    expect((await see(payer, id)).body.status).toBe('pending');
    await freeze(payer.handle, null);
    await freeze(sender.handle, new Date());
    expect((await pay(payer, id)).status).toBe(200);
  });

  test('no payment commits under a key that was revoked', async () => {
    const payer = await funded(10);
    const { id } = (await ask(ada, { toHandle: payer.handle }, { amount: 5 })).body;
    // Behind the back of the instance, which still knows the key: the ledger has the last word.
    await service.database.db.query(
      'UPDATE api_keys SET revoked_at = now() WHERE account_id = (SELECT id FROM accounts WHERE handle = $1)',
      [payer.handle],
    );
    const refused = await pay(payer, id);
    expect([refused.status, refused.body.code]).toEqual([401, 'unauthorized']);
    expect((await see(ada, id)).body.status).toBe('pending');
  });
});

describe('sent again with the same Idempotency-Key', () => {
  test('creating, paying and cancelling are done once and answered the same', async () => {
    const body = { toHandle: grace.handle, amount: 3, currency: 'USDC', description: 'Once' };
    const create = () =>
      service.client.request('POST', '/invoices', { key: ada.key, body, headers: { 'idempotency-key': 'create' } });
    const [first, second] = [await create(), await create()];
    expect(second.status).toBe(201);
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotency-replayed')).toBe('true');

    const [paid, again] = [
      await pay(grace, first.body.id, { 'idempotency-key': 'pay' }),
      await pay(grace, first.body.id, { 'idempotency-key': 'pay' }),
    ];
    expect([again.status, again.body]).toEqual([200, paid.body]);

    const other = (await ask(ada, { toHandle: grace.handle })).body.id;
    const mismatch = await pay(grace, other, { 'idempotency-key': 'pay' });
    expect([mismatch.status, mismatch.body.code]).toEqual([422, 'idempotency_mismatch']);
    const [gone, still] = [
      await cancel(ada, other, { 'idempotency-key': 'c' }),
      await cancel(ada, other, { 'idempotency-key': 'c' }),
    ];
    expect([still.status, still.body]).toEqual([200, gone.body]);
  });

  test('an answer is given again after its due date has passed', async () => {
    const body = {
      toHandle: grace.handle,
      amount: 3,
      currency: 'USDC',
      description: 'Soon',
      dueAt: new Date(Date.now() + 300_000).toISOString(),
    };
    const create = () =>
      service.client.request('POST', '/invoices', { key: ada.key, body, headers: { 'idempotency-key': 'soon' } });
    const first = await create();
    expect(first.status).toBe(201);
    onTestFinished(() => void vi.useRealTimers());
    vi.useFakeTimers({ toFake: ['Date'], now: Date.parse(body.dueAt) + 1_000 });
    expect((await ask(ada, { toHandle: grace.handle }, { dueAt: body.dueAt })).body.errors[0].path).toBe('dueAt');
    expect((await create()).body).toEqual(first.body);
  });
});

describe('what is asked for', () => {
  test.each([0, -1, 1e-7, 0.0000015, 1e15, '1e1', '10,5', null, true, undefined])(
    'amount %j is refused',
    async (amount) => {
      const { status, body } = await ask(ada, { toHandle: grace.handle }, { amount });
      expect([status, body.code, body.errors[0].path]).toEqual([400, 'invalid_request', 'amount']);
    },
  );

  test.each(['usdc', 'DAI', '', null, undefined])('currency %j is refused', async (currency) => {
    const { status, body } = await ask(ada, { toHandle: grace.handle }, { currency });
    expect([status, body.code, body.errors[0].path]).toEqual([400, 'invalid_request', 'currency']);
  });

  test.each([undefined, null, '', ' ', '\u200b', 'x'.repeat(501), 'two\nlines', '\u202egnp.exe', 5])(
    'description %j is refused',
    async (description) => {
      const { status, body } = await ask(ada, { toHandle: grace.handle }, { description });
      expect([status, body.code, body.errors[0].path]).toEqual([400, 'invalid_request', 'description']);
    },
  );

  test.each([
    () => new Date(Date.now() - 1_000).toISOString(),
    () => '2020-01-01T00:00:00Z',
    () => '2020-01-01',
    () => '2099-01',
    () => '2099-02-30T00:00:00Z',
    () => '9999-12-31T23:59:59-12:00',
    () => '+010000-01-01T00:00:00Z',
    () => 'tomorrow',
    () => '',
    () => 4_070_908_800,
  ])('a dueAt in the past or of no form is refused (%#)', async (dueAt) => {
    const { status, body } = await ask(ada, { toHandle: grace.handle }, { dueAt: dueAt() });
    expect([status, body.code, body.errors[0].path]).toEqual([400, 'invalid_request', 'dueAt']);
  });

  test.each([
    ['2099-01-01T02:00:00+02:00', '2099-01-01T00:00:00.000Z'],
    ['20990101T000000Z', '2099-01-01T00:00:00.000Z'],
    ['2099-01-01T00:00', '2099-01-01T00:00:00.000Z'],
    ['2099-01-01', '2099-01-01T23:59:59.999Z'],
  ])('a dueAt of %s is one moment, and answered in one form', async (dueAt, moment) => {
    const { body } = await ask(ada, { toHandle: grace.handle }, { dueAt });
    expect(body.dueAt).toBe(moment);
  });

  test.each([
    {},
    { toHandle: 'PA-ZZZZZZZZ', toEmail: 'x@example.com' },
    { toHandle: 'nobody' },
    { toHandle: '' },
    { toHandle: null },
    { toHandle: null, toEmail: null },
    { toEmail: 'nobody' },
    { toEmail: ['x@example.com'] },
    { toPhone: '+14155550123' },
    { toEmail: 'x@example.com', status: 'paid' },
  ])('the recipient %j is refused', async (to) => {
    const { status, body } = await ask(ada, to);
    expect([status, body.code]).toEqual([400, 'invalid_request']);
  });

  test('a handle that nobody has is 404; oneself is 400, by whichever name', async () => {
    const nobody = await ask(ada, { toHandle: 'PA-ZZZZZZZZ' });
    expect([nobody.status, nobody.body.code]).toEqual([404, 'recipient_not_found']);
    for (const to of [{ toHandle: ada.handle.toLowerCase() }, { toEmail: ada.email.toUpperCase() }]) {
      const { status, body } = await ask(ada, to);
      expect([status, body.code]).toEqual([400, 'self_invoice']);
    }
  });

  test.each([
    'inv_x',
    'inv_00000000000000000000000000',
    'trf_01kp3v2m8rfk2s6y0e6v9q4w1x',
    "'; DROP TABLE invoices;--",
    '%00x',
  ])('the id %j is nobody’s', async (id) => {
    const path = id.startsWith('%') ? id : encodeURIComponent(id);
    for (const [method, tail] of [
      ['GET', ''],
      ['POST', '/pay'],
      ['POST', '/cancel'],
    ] as const) {
      const { status } = await service.client.request(method, `/invoices/${path}${tail}`, { key: ada.key });
      expect([400, 404]).toContain(status);
    }
  });

  test('paying takes no body', async () => {
    const { id } = (await ask(ada, { toHandle: grace.handle }, { amount: 1 })).body;
    expect((await service.client.post(`/invoices/${id}/pay`, { amount: 0.01 }, grace.key)).status).toBe(400);
    expect((await service.client.post(`/invoices/${id}/pay`, {}, grace.key)).status).toBe(200);
  });
});

describe('the list', () => {
  test('is filtered by direction, status and what is overdue', async () => {
    const [one, two] = [await funded(100), await service.client.register()];
    const make = async (from: TestAccount, to: TestAccount, dueAt?: string): Promise<string> =>
      (await ask(from, { toHandle: to.handle }, { amount: 1, ...(dueAt && { dueAt }) })).body.id;
    const late = await make(two, one, tomorrow());
    const open = await make(two, one, tomorrow());
    const paid = await make(two, one, tomorrow());
    const sent = await make(one, two);
    const cancelled = await make(one, two, tomorrow());
    for (const id of [late, paid, cancelled]) await letPass(id);
    await pay(one, paid);
    await cancel(one, cancelled);
    const ids = async (query: string) => (await list(one, query)).map(({ id }) => id);
    expect(await ids('')).toEqual([cancelled, sent, paid, open, late]);
    expect(await ids('?direction=sent')).toEqual([cancelled, sent]);
    expect(await ids('?direction=received')).toEqual([paid, open, late]);
    expect(await ids('?status=pending')).toEqual([sent, open, late]);
    expect(await ids('?status=paid')).toEqual([paid]);
    expect(await ids('?status=cancelled&direction=received')).toEqual([]);
    expect(await ids('?overdue=true')).toEqual([late]);
    expect(await ids('?overdue=true&direction=sent')).toEqual([]);
    expect(await ids('?overdue=false')).toEqual([cancelled, sent, paid, open]);
    expect((await see(two, late)).body.overdue).toBe(true);
    expect((await pay(one, late)).body).toMatchObject({ status: 'paid', overdue: false });
  });

  test('pages neither skip nor repeat while new ones arrive', async () => {
    const [one, two] = [await service.client.register(), await service.client.register()];
    const make = async (turn: number) =>
      (await ask(turn % 2 ? one : two, { toHandle: (turn % 2 ? two : one).handle })).body.id;
    const before: string[] = [];
    for (let turn = 0; turn < 17; turn++) before.push(await make(turn));
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`;
      const { body } = await service.client.get(`/invoices?limit=4${query}`, one.key);
      seen.push(...body.invoices.map(({ id }: { id: string }) => id));
      cursor = body.nextCursor;
      await Promise.all([make(0), make(1)]);
    } while (cursor !== null);
    expect(seen).toEqual(before.reverse());
  });

  test.each([
    'limit=0',
    'limit=101',
    'cursor=x',
    'cursor=',
    'status=lost',
    'direction=both',
    'overdue=1',
    'from=x',
    'limit=1&limit=2',
  ])('?%s is 400', async (query) => {
    const { status, body } = await service.client.get(`/invoices?${query}`, ada.key);
    expect([status, body.code]).toEqual([400, 'invalid_request']);
  });
});

test('after all that the ledger is sound', async () => {
  expect((await verifyLedger(service.database.db)).problems).toEqual([]);
});
