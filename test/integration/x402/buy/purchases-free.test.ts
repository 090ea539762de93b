import { beforeAll, describe, expect, test } from 'vitest';
import { cutReturned, forgetAnswers } from '../../../../src/x402/buy/keep-answer.ts';
import { demand, firstTermsOf, startSeller, termsOf } from '../../../support/seller.ts';
import { useService } from '../../../support/service.ts';

/** What a stranger could have us do with an endpoint that is for paying, and pays nothing. */
const seller = await startSeller();
const service = useService({ env: { ALLOW_PRIVATE_HOSTS: seller.host } });
const { db } = service.database;
let rich: string;

async function newAccount(amount: number): Promise<string> {
  const { key } = await service.client.register();
  if (amount > 0) expect((await service.client.post('/sandbox/fund', { amount }, key)).status).toBe(200);
  return key;
}

beforeAll(async () => {
  rich = await newAccount(10);
});

const pay = (key: string, body: object = {}, headers: Record<string, string> = {}) =>
  service.client.request('POST', '/nano/pay', { key, headers, body: { url: seller.url, maxAmount: 0.01, ...body } });

const keptBytes = async () => {
  const { rows } = await db.query<{ bytes: string }>(
    'SELECT coalesce(sum(octet_length(answer::text)), 0) AS bytes FROM ledger.idempotency_keys',
  );
  return Number(rows[0]?.bytes);
};

test('whoever has less than maxAmount has nothing asked of anybody', async () => {
  seller.asked.length = 0;
  for (const key of [await newAccount(0), await newAccount(0.009)]) {
    expect(await pay(key)).toMatchObject({ status: 400, body: { code: 'insufficient_balance' } });
  }
  expect(seller.asked).toEqual([]);
});

test.each([
  'User-Agent',
  'Cookie',
  'X-Forwarded-For',
  'x-forwarded-host',
  'Forwarded',
  'Via',
  'X-Real-IP',
  'CF-Connecting-IP',
  'X-Original-URL',
  'X-HTTP-Method-Override',
  'Remote-User',
  'Proxy',
])('%s is not the caller’s to set', async (name) => {
  seller.asked.length = 0;
  expect(await pay(rich, { headers: { [name]: 'somebody else' } })).toMatchObject({
    status: 400,
    body: { code: 'invalid_request', errors: [{ path: `headers.${name}`, message: 'is a header that cannot be set' }] },
  });
  expect(seller.asked).toEqual([]);
});

test.each(['X_Forwarded_For', 'X-Forwarded_For', 'User_Agent', 'x.real.ip'])(
  '%s is no name of a header',
  async (name) => {
    seller.asked.length = 0;
    expect(await pay(rich, { headers: { [name]: 'somebody else' } })).toMatchObject({
      status: 400,
      body: { code: 'invalid_request', errors: [{ path: `headers.${name}` }] },
    });
    expect(seller.asked).toEqual([]);
  },
);

describe('what is free', () => {
  test('is answered whole, and again in short under the same key', async () => {
    const long = 'ä'.repeat(300_000);
    seller.answer = (_asked, response) =>
      void response.writeHead(200, { 'content-type': 'text/plain; charset=utf-8' }).end(long);
    const headers = { 'Idempotency-Key': 'long' };
    const first = await pay(rich, {}, headers);
    expect(first.body).toMatchObject({ body: long, truncated: false, encoding: 'utf8' });
    const again = await pay(rich, {}, headers);
    expect(again.body).toMatchObject({ body: 'ä'.repeat(8_192), truncated: true, encoding: 'utf8', paid: 0 });
    expect(again.headers.get('idempotency-replayed') ?? again.headers.get('idempotent-replayed')).not.toBeNull();
  });

  test('keeps no more than a mebibyte a day for an account, whatever it is sent', async () => {
    const key = await newAccount(1);
    seller.answer = (_asked, response) => void response.end('x'.repeat(20_000));
    const before = await keptBytes();
    for (let call = 0; call < 70; call++) {
      expect((await pay(key, {}, { 'Idempotency-Key': `call-${call}` })).body.body).toHaveLength(20_000);
    }
    expect((await keptBytes()) - before).toBeLessThan(1_200_000);
    expect((await pay(key, {}, { 'Idempotency-Key': 'call-69' })).body).toMatchObject({ body: '', truncated: true });
    await db.query('UPDATE kept_bytes SET day = day - 2');
    await forgetAnswers(db);
    expect((await db.query('SELECT FROM kept_bytes')).rows).toEqual([]);
  });

  test('keeps few headers, and counts them', async () => {
    const key = await newAccount(1);
    const many = Object.fromEntries(Array.from({ length: 14 }, (_, index) => [`x-header-${index}`, 'h'.repeat(1_000)]));
    seller.answer = (_asked, response) => void response.writeHead(200, { 'content-type': 'text/plain', ...many }).end();
    const before = await keptBytes();
    for (let call = 0; call < 20; call++) {
      const reply = await pay(key, {}, { 'Idempotency-Key': `headers-${call}` });
      expect(reply.body.headers['x-header-13']).toBe('h'.repeat(1_000));
    }
    expect((await keptBytes()) - before).toBeLessThan(20 * 1_000);
    const again = await pay(key, {}, { 'Idempotency-Key': 'headers-0' });
    expect(again.body.headers).toEqual({ 'content-type': 'text/plain' });
  });

  test('is answered a hundred and twenty times in an hour, and then nobody is asked any more', async () => {
    const key = await newAccount(1);
    seller.answer = (_asked, response) => void response.end('free');
    const statuses: number[] = [];
    for (let round = 0; round < 13; round++) {
      const replies = await Promise.all(Array.from({ length: 10 }, () => pay(key)));
      statuses.push(...replies.map(({ status }) => status));
    }
    expect(statuses.filter((status) => status === 200)).toHaveLength(120);
    seller.asked.length = 0;
    const refused = await pay(key);
    expect(refused).toMatchObject({ status: 429, body: { code: 'too_many_free_answers' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_000);
    expect(seller.asked).toEqual([]);
  });
});

describe('a call that is paid for', () => {
  const down = seller.url.replace('/paid', '/down');

  test('takes no place of what is free, however many are under way', async () => {
    const key = await newAccount(5);
    seller.answer = (_asked, response) => void response.end('free');
    for (let round = 0; round < 17; round++) await Promise.all(Array.from({ length: 7 }, () => pay(key)));
    // One place is left, and six are under way before any of them hears its price.
    const waiting: (() => void)[] = [];
    seller.answer = ({ payment }, response) => {
      if (payment !== undefined) return void response.end('goods');
      waiting.push(() => demand(response, termsOf(seller, { amount: '1' })));
      if (waiting.length === 6) for (const answer of waiting) answer();
    };
    const replies = await Promise.all(Array.from({ length: 6 }, () => pay(key)));
    expect(replies.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200, 200]);
  });

  test('is not refused because a seller was away, and a seller that is away is not asked without end', async () => {
    const key = await newAccount(5);
    seller.answer = ({ path, payment }, response) => {
      if (path.startsWith('/down')) response.writeHead(503).end('down');
      else if (payment === undefined) demand(response, termsOf(seller, { amount: '1' }));
      else response.end('goods');
    };
    for (let round = 0; round < 15; round++) {
      const replies = await Promise.all(Array.from({ length: 10 }, () => pay(key, { url: down })));
      expect(replies.map(({ body }) => body.status)).toEqual(Array.from({ length: 10 }, () => 503));
      if (round === 12) expect((await pay(key)).body).toMatchObject({ status: 200, body: 'goods' });
    }
    seller.asked.length = 0;
    const refused = await pay(key, { url: down });
    expect(refused).toMatchObject({ status: 429, body: { code: 'too_many_failed_calls' } });
    expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(600);
    expect(seller.asked).toEqual([]);
  });
});

describe('an answer that was paid for', () => {
  const long = 'y'.repeat(600_000);
  const sells = (amount: string) => {
    seller.answer = ({ payment }, response) =>
      payment === undefined ? demand(response, termsOf(seller, { amount })) : void response.end(long);
  };
  const kept = async () =>
    (
      await db.query<{ length: number }>(
        'SELECT octet_length(body) AS length FROM purchase_answers ORDER BY kept_at DESC LIMIT 1',
      )
    ).rows[0]?.length;

  test.each([
    ['whole, when it cost a tenth of a cent', '1000', 600_000],
    ['as much as it paid for and 16 KiB, when it cost a hundredth of that', '10', 10 * 1_024 + 16_384],
  ])('is answered whole at first, and kept %s', async (_what, amount, length) => {
    const key = await newAccount(1);
    sells(amount);
    const headers = { 'Idempotency-Key': `paid-${amount}` };
    expect((await pay(key, {}, headers)).body).toMatchObject({ body: long, truncated: false });
    expect(await kept()).toBe(length);
    const again = await pay(key, {}, headers);
    expect(again.body).toMatchObject({ body: long.slice(0, length), truncated: length < long.length });
  });

  test('is answered whole also when the day has no room left, and then not kept', async () => {
    const key = await newAccount(1);
    sells('1000');
    await pay(key);
    await db.query('UPDATE kept_bytes SET bytes = 64 * 1024 * 1024');
    expect((await pay(key)).body).toMatchObject({ body: long, truncated: false });
    expect(await kept()).toBe(0);
  });
});

test('terms beyond 16 KiB, which would be kept for ever, are not accepted', async () => {
  const key = await newAccount(1);
  const purchases = async () => (await db.query('SELECT FROM purchases')).rowCount;
  const before = await purchases();
  const extra = { name: 'USD Coin', version: '2', more: 'm'.repeat(20_000) };
  seller.answer = (_asked, response) => demand(response, firstTermsOf(seller, { extra }));
  expect(await pay(key)).toMatchObject({ body: { code: 'terms_unpayable' } });
  expect(await purchases()).toBe(before);
});

test('what is kept of an answer is cut when its payment comes back', async () => {
  const key = await newAccount(1);
  seller.answer = ({ payment }, response) =>
    payment === undefined
      ? demand(response, termsOf(seller, { amount: '1000' }))
      : void response.end('z'.repeat(50_000));
  const { id } = (await pay(key)).body.payment;
  const kept = async () =>
    (
      await db.query('SELECT octet_length(body) AS length, truncated FROM purchase_answers WHERE purchase_id = $1', [
        id,
      ])
    ).rows;
  expect(await kept()).toEqual([{ length: 50_000, truncated: false }]);
  await db.transaction((tx) => cutReturned(tx, id));
  expect(await kept()).toEqual([{ length: 16_384, truncated: true }]);
});
