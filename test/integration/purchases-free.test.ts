import { beforeAll, describe, expect, test } from 'vitest';
import { forgetAnswers } from '../../src/purchases/forget-answers.ts';
import { startSeller } from '../support/seller.ts';
import { useService } from '../support/service.ts';

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
])('%s is not the caller’s to set', async (name) => {
  seller.asked.length = 0;
  expect(await pay(rich, { headers: { [name]: 'somebody else' } })).toMatchObject({
    status: 400,
    body: { code: 'invalid_request', errors: [{ path: `headers.${name}`, message: 'is not yours to set' }] },
  });
  expect(seller.asked).toEqual([]);
});

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
