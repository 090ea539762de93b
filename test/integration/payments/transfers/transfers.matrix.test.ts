import { setImmediate, setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { verifyLedger } from '../../../../src/ledger/verify.ts';
import type { Reply, TestAccount } from '../../../support/client.ts';
import { useService } from '../../../support/service.ts';

const service = useService();

async function funded(amount = 100, currency = 'USDC'): Promise<TestAccount> {
  const account = await service.client.register();
  const { status } = await service.client.post('/sandbox/fund', { amount, currency }, account.key);
  expect(status).toBe(200);
  return account;
}

const pay = (from: TestAccount, to: string, amount: unknown, more: object = {}) =>
  service.client.post('/agent/transfer', { to, amount, currency: 'USDC', ...more }, from.key);

const balanceOf = async ({ key }: TestAccount) => (await service.client.get('/circle/balance', key)).body;

describe('a transfer', () => {
  test.each(['/agent/transfer', '/circle/transfer'])('%s moves the money and answers what it did', async (path) => {
    const [ada, grace] = [await funded(100), await service.client.register()];
    const { status, body } = await service.client.post(
      path,
      { to: grace.handle, amount: 50, currency: 'USDC' },
      ada.key,
    );
    expect(status).toBe(200);
    expect(body).toEqual({
      transferId: expect.stringMatching(/^trf_[0-9a-z]{26}$/),
      status: 'complete',
      amount: 50,
      fee: 0.75,
      recipientAmount: 49.25,
      currency: 'USDC',
    });
    expect(await balanceOf(ada)).toEqual({ USDC: '50', EURC: '0', other: [] });
    expect(await balanceOf(grace)).toMatchObject({ USDC: '49.25', EURC: '0' });
  });

  test('reaches its recipient by handle, email and phone, in any usual spelling', async () => {
    const [ada, grace] = [await funded(10), await service.client.register()];
    await service.client.patch('/account', { phone: '+14155550110' }, grace.key);
    const spellings = [grace.handle.toLowerCase(), grace.email.toUpperCase(), '+1 (415) 555-0110', '+1-415-555-0110'];
    for (const to of spellings) expect([to, (await pay(ada, to, 1)).status]).toEqual([to, 200]);
    expect(await balanceOf(grace)).toMatchObject({ USDC: '3.96', EURC: '0' });
  });

  test('EURC is apart from USDC', async () => {
    const [ada, grace] = [await funded(10, 'EURC'), await service.client.register()];
    expect((await pay(ada, grace.handle, 5)).body.code).toBe('insufficient_balance');
    expect((await pay(ada, grace.handle, 5, { currency: 'EURC' })).body).toMatchObject({
      fee: 0.07,
      recipientAmount: 4.93,
    });
    expect(await balanceOf(grace)).toMatchObject({ USDC: '0', EURC: '4.93' });
  });

  test('the last atomic unit can be sent, and not one more', async () => {
    const [ada, grace] = [await funded(0.000002), await service.client.register()];
    expect((await pay(ada, grace.handle, 0.000003)).body.code).toBe('insufficient_balance');
    expect((await pay(ada, grace.handle, 0.000002)).body).toMatchObject({
      amount: 0.000002,
      fee: 0,
      recipientAmount: 0.000002,
    });
    expect(await balanceOf(ada)).toMatchObject({ USDC: '0', EURC: '0' });
    expect(await balanceOf(grace)).toMatchObject({ USDC: '0.000002', EURC: '0' });
  });

  describe('that is refused', () => {
    let ada: TestAccount;
    let grace: TestAccount;
    beforeAll(async () => {
      [ada, grace] = [await funded(100), await service.client.register()];
    });

    test.each([0, -1, -0.5, 1e-7, 0.0000015, 1e15, '1e1', '10,5', null, true, [5], { n: 5 }])(
      'of %j is refused, and moves nothing',
      async (amount) => {
        const { status, body } = await pay(ada, grace.handle, amount);
        expect([status, body.code, body.errors[0].path]).toEqual([400, 'invalid_request', 'amount']);
        expect(await balanceOf(ada)).toMatchObject({ USDC: '100', EURC: '0' });
      },
    );

    test.each(['1e400', '-1e400', 'NaN', 'Infinity', '0x10', '1_000', '01'])(
      'of the bare word %s is refused',
      async (word) => {
        const { status, body } = await service.client.post(
          '/agent/transfer',
          `{"to":"${grace.handle}","amount":${word},"currency":"USDC"}`,
          ada.key,
        );
        expect([status, body.code]).toEqual([400, 'invalid_request']);
      },
    );

    test.each(['usdc', 'USD', '', 'DAI', null, 5])('in currency %j is refused', async (currency) => {
      const { status, body } = await pay(ada, grace.handle, 1, { currency });
      expect([status, body.code, body.errors[0].path]).toEqual([400, 'invalid_request', 'currency']);
    });

    test.each([
      ['', 400, 'invalid_request'],
      [' ', 400, 'invalid_request'],
      ['ada', 400, 'invalid_request'],
      ['x'.repeat(10_000), 400, 'invalid_request'],
      [null, 400, 'invalid_request'],
      ['PA-ZZZZZZZZ', 404, 'recipient_not_found'],
      ['nobody@example.com', 404, 'recipient_not_found'],
      ['+14155559999', 404, 'recipient_not_found'],
    ])('to %j is %i %s', async (to, status, code) => {
      const reply = await pay(ada, to as string, 1);
      expect([reply.status, reply.body.code]).toEqual([status, code]);
      expect(await balanceOf(ada)).toMatchObject({ USDC: '100', EURC: '0' });
    });
  });

  test('to oneself is refused, by whichever name', async () => {
    const ada = await funded(1);
    for (const to of [ada.handle, ada.email]) {
      const { status, body } = await pay(ada, to, 1);
      expect([status, body.code]).toEqual([400, 'self_transfer']);
    }
  });

  test('needs a key', async () => {
    const { status, body } = await service.client.post('/agent/transfer', {
      to: 'PA-AAAAAAAA',
      amount: 1,
      currency: 'USDC',
    });
    expect([status, body.code]).toEqual([401, 'unauthorized']);
  });

  test('a frozen account receives but does not send', async () => {
    const [ada, grace] = [await funded(10), await funded(10)];
    await service.database.db.query('UPDATE accounts SET frozen_at = now() WHERE handle = $1', [ada.handle]);
    const { status, body } = await pay(ada, grace.handle, 1);
    expect([status, body.code]).toEqual([403, 'account_frozen']);
    expect((await pay(grace, ada.handle, 1)).status).toBe(200);
    expect(await balanceOf(ada)).toMatchObject({ USDC: '10.99', EURC: '0' });
  });

  test('a balance is spent once, however many try at the same moment', async () => {
    const [ada, grace] = [await funded(10), await service.client.register()];
    const replies = await Promise.all(Array.from({ length: 30 }, () => pay(ada, grace.handle, 1)));
    expect(replies.filter((reply) => reply.status === 200)).toHaveLength(10);
    expect(replies.filter((reply) => reply.body.code === 'insufficient_balance')).toHaveLength(20);
    expect(await balanceOf(ada)).toMatchObject({ USDC: '0', EURC: '0' });
    expect(await balanceOf(grace)).toMatchObject({ USDC: '9.9', EURC: '0' });
  });

  test('nothing is posted under a key after its revocation was answered', { tags: ['matrix'] }, async () => {
    for (let round = 0; round < 10; round++) {
      const [ada, grace] = [await funded(100), await service.client.register()];
      const flood: Promise<Reply>[] = [];
      let revoked = false;
      let unanswered = 0;
      const pouring = (async () => {
        for (let afterwards = 0; afterwards < 5; await sleep(1)) {
          // However slow the answers are, there is a flood and no deluge.
          if (!revoked && unanswered >= 100) continue;
          if (revoked) afterwards++;
          unanswered++;
          flood.push(pay(ada, grace.handle, 0.01).finally(() => unanswered--));
        }
      })();
      await flood[0];
      await service.client.post('/account/revoke-key', undefined, ada.key);
      revoked = true;
      const atRevocation = (await balanceOf(grace)).USDC;
      await pouring;
      const statuses = (await Promise.all(flood)).map((reply) => reply.status);
      expect(new Set(statuses)).toEqual(new Set([200, 401]));
      expect((await balanceOf(grace)).USDC).toBe(atRevocation);
    }
  });
});

describe('an Idempotency-Key', () => {
  const payOnce = (from: TestAccount, to: string, amount: number, key: string) =>
    service.client.request('POST', '/agent/transfer', {
      key: from.key,
      headers: { 'idempotency-key': key },
      body: { to, amount, currency: 'USDC' },
    });

  test('pays once and answers the same, also to many at the same moment', async () => {
    const [ada, grace] = [await funded(100), await service.client.register()];
    const replies = await Promise.all(Array.from({ length: 20 }, () => payOnce(ada, grace.handle, 10, 'k')));
    expect(new Set(replies.map((reply) => JSON.stringify([reply.status, reply.body]))).size).toBe(1);
    expect(replies.filter((reply) => reply.headers.get('idempotency-replayed') === 'true')).toHaveLength(19);
    expect(await balanceOf(ada)).toMatchObject({ USDC: '90', EURC: '0' });
  });

  test('is refused for another request', async () => {
    const [ada, grace] = [await funded(100), await service.client.register()];
    await payOnce(ada, grace.handle, 10, 'k');
    const { status, body } = await payOnce(ada, grace.handle, 11, 'k');
    expect([status, body.code]).toEqual([422, 'idempotency_mismatch']);
  });

  test('is not bound by a refusal: after funding the same request succeeds', async () => {
    const [ada, grace] = [await funded(1), await service.client.register()];
    expect((await payOnce(ada, grace.handle, 10, 'k')).status).toBe(400);
    await service.client.post('/sandbox/fund', { amount: 100 }, ada.key);
    expect((await payOnce(ada, grace.handle, 10, 'k')).status).toBe(200);
    expect((await payOnce(ada, grace.handle, 10, 'k')).headers.get('idempotency-replayed')).toBe('true');
  });

  test('tells what was paid, even when the recipient cannot be found any more', async () => {
    const [ada, grace] = [await funded(10), await service.client.register()];
    await service.client.patch('/account', { phone: '+14155550120' }, grace.key);
    const first = await payOnce(ada, '+14155550120', 1, 'k');
    await service.client.patch('/account', { phone: null }, grace.key);
    const gone = await payOnce(ada, '+14155550120', 1, 'k');
    expect([gone.status, gone.body, gone.headers.get('idempotency-replayed')]).toEqual([200, first.body, 'true']);
    expect((await payOnce(ada, '+14155550120', 2, 'k')).body.code).toBe('idempotency_mismatch');
    expect((await payOnce(ada, '+14155550120', 1, 'other')).body.code).toBe('recipient_not_found');
    await service.client.patch('/account', { phone: '+14155550120' }, ada.key);
    expect((await payOnce(ada, '+14155550120', 1, 'k')).body).toEqual(first.body);
    expect((await payOnce(ada, '+14155550120', 1, 'other')).body.code).toBe('self_transfer');
    expect(await balanceOf(ada)).toMatchObject({ USDC: '9', EURC: '0' });
  });

  test('belongs to its account', async () => {
    const [ada, grace] = [await funded(10), await funded(10)];
    expect((await payOnce(ada, grace.handle, 1, 'shared')).status).toBe(200);
    expect((await payOnce(grace, ada.handle, 1, 'shared')).headers.get('idempotency-replayed')).toBeNull();
  });
});

describe('a quote', () => {
  test('needs no key and tells nothing about the recipient', async () => {
    const grace = await service.client.register();
    const answers = await Promise.all(
      [grace.handle, 'PA-ZZZZZZZZ', grace.email, 'nobody@example.com', '%2B14155550111', '+14155550111'].map((to) =>
        service.client.get(`/agent/transfer/quote?to=${to}&amount=50`),
      ),
    );
    for (const { status, body } of answers) {
      expect(status).toBe(200);
      expect(body).toEqual({ amount: 50, fee: 0.75, feeRate: '1.49%', recipientReceives: 49.25, currency: 'USDC' });
    }
  });

  test.each([
    '',
    '?amount=5',
    '?to=PA-AAAAAAAA',
    '?to=x&amount=5',
    '?to=PA-AAAAAAAA&amount=0',
    '?to=PA-AAAAAAAA&amount=1e3',
    '?to=PA-AAAAAAAA&amount=5&currency=eurc',
  ])('with %s is 400', async (query) => {
    const { status, body } = await service.client.get(`/agent/transfer/quote${query}`);
    expect([status, body.code]).toEqual([400, 'invalid_request']);
  });
});

describe('the history', () => {
  test('shows both sides of a transfer, newest first', async () => {
    const [ada, grace] = [await funded(100), await service.client.register({ name: 'Grace' })];
    const { transferId } = (await pay(ada, grace.handle, 50, { description: 'Lunch' })).body;
    const record = {
      transferId,
      type: 'transfer',
      status: 'complete',
      amount: 50,
      fee: 0.75,
      currency: 'USDC',
      description: 'Lunch',
    };
    const sent = (await service.client.get('/circle/transfers', ada.key)).body;
    expect(sent.transfers).toEqual([
      {
        ...record,
        direction: 'sent',
        counterparty: { handle: grace.handle, name: 'Grace' },
        createdAt: expect.any(String),
      },
      expect.objectContaining({ type: 'deposit', direction: 'received', amount: 100, counterparty: null }),
    ]);
    const received = (await service.client.get('/circle/transfers', grace.key)).body;
    expect(received).toEqual({
      transfers: [
        {
          ...record,
          direction: 'received',
          counterparty: { handle: ada.handle, name: 'Ada' },
          createdAt: expect.any(String),
        },
      ],
      nextCursor: null,
    });
    const stranger = await service.client.register();
    expect((await service.client.get('/circle/transfers', stranger.key)).body).toEqual({
      transfers: [],
      nextCursor: null,
    });
  });

  test('pages neither skip nor repeat while new transfers arrive', async () => {
    const [ada, grace] = [await funded(1000), await service.client.register()];
    const before: string[] = [];
    for (let i = 0; i < 23; i++) before.push((await pay(ada, grace.handle, 1)).body.transferId);
    const seen: string[] = [];
    let cursor: string | null = null;
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`;
      const { body } = await service.client.get(`/circle/transfers?limit=5${query}`, grace.key);
      seen.push(...body.transfers.map((transfer: { transferId: string }) => transfer.transferId));
      cursor = body.nextCursor;
      await Promise.all([pay(ada, grace.handle, 1), pay(ada, grace.handle, 1)]);
    } while (cursor !== null);
    expect(seen).toEqual(before.reverse());
  });

  test.each(['x', '1', '1-2-3', '-1-1', '99999999999999999999-1', "1';--"])('the cursor %s is 400', async (cursor) => {
    const { key } = await service.client.register();
    const { status, body } = await service.client.get(`/circle/transfers?cursor=${encodeURIComponent(cursor)}`, key);
    expect([status, body.code]).toEqual([400, 'invalid_request']);
  });
});

describe('the statement of a month', () => {
  const month = () => new Date().toISOString().slice(0, 7);

  test('adds up exactly, as JSON and as CSV', async () => {
    const [ada, grace] = [await funded(100.1), await service.client.register({ name: '=cmd, "x"' })];
    for (const amount of [0.1, 0.2, 33.333333]) await pay(ada, grace.handle, amount, { description: '=1+1' });
    const { body } = await service.client.get(`/account/statement?month=${month()}`, ada.key);
    expect(body).toMatchObject({ month: month(), currency: 'USDC', openingBalance: '0', closingBalance: '66.466667' });
    expect(body.lines.map((line: { change: string }) => line.change)).toEqual(['100.1', '-0.1', '-0.2', '-33.333333']);
    expect(body.lines.at(-1).balance).toBe(body.closingBalance);

    for (const request of [
      { path: `/account/statement?month=${month()}&format=csv`, headers: {} },
      { path: `/account/statement?month=${month()}`, headers: { accept: 'text/csv' } },
    ]) {
      const csv = await service.client.request('GET', request.path, { key: ada.key, headers: request.headers });
      expect(csv.headers.get('content-type')).toBe('text/csv; charset=utf-8');
      const rows = csv.body.trimEnd().split('\r\n');
      expect(rows).toHaveLength(7);
      expect(rows[1]).toBe(`${month()}-01,,opening balance,,,,,0,USDC`);
      expect(rows[3]).toContain(`,transfer,${grace.handle},"'=cmd, ""x""",'=1+1,-0.1,100,USDC`);
      expect(rows[6]).toBe(',,closing balance,,,,,66.466667,USDC');
    }
  });

  test('an empty month is empty, and a later one opens with what was left', async () => {
    const ada = await funded(5);
    const past = (await service.client.get('/account/statement?month=2020-02', ada.key)).body;
    expect(past).toMatchObject({ openingBalance: '0', closingBalance: '0', lines: [] });
    const future = (await service.client.get('/account/statement?month=2099-12', ada.key)).body;
    expect(future).toMatchObject({ openingBalance: '5', closingBalance: '5', lines: [] });
    const euros = (await service.client.get(`/account/statement?month=${month()}&currency=EURC`, ada.key)).body;
    expect(euros).toMatchObject({ currency: 'EURC', closingBalance: '0' });
  });

  test.each(['', '?month=2026', '?month=2026-13', '?month=2026-00', '?month=1-1', '?month=2026-01&format=xml'])(
    '%s is 400',
    async (query) => {
      const { key } = await service.client.register();
      expect((await service.client.get(`/account/statement${query}`, key)).status).toBe(400);
    },
  );
});

test('a database that only reads is told apart from an unknown outcome', async () => {
  const [ada, grace] = [await funded(10), await service.client.register()];
  const { db, url } = service.database;
  // A session from before, which may still write.
  const admin = await db.pool.connect();
  onTestFinished(() => admin.release());
  const setReadOnly = async (value: 'on' | 'off') => {
    await admin.query(`ALTER DATABASE ${new URL(url).pathname.slice(1)} SET default_transaction_read_only = ${value}`);
    // It answers when they have ended, and have said so to whoever has used them.
    await admin.query(
      "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = 'paywright-batches' AND datname = current_database()",
    );
    await setImmediate();
  };
  await setReadOnly('on');
  const { status, body } = await pay(ada, grace.handle, 1);
  await setReadOnly('off');
  expect([status, body.code]).toEqual([503, 'unavailable']);
  await expect.poll(async () => (await pay(ada, grace.handle, 1)).status).toBe(200);
});

test('after all that the ledger is sound', async () => {
  expect((await verifyLedger(service.database.db)).problems).toEqual([]);
});
