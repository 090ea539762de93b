import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, describe, expect, onTestFinished, test } from 'vitest';
import { features } from '../../../../src/app/features.ts';
import { sagasOf } from '../../../../src/app/listed-feature.ts';
import { reconcile } from '../../../../src/custody/reserves/reconcile.ts';
import { reportReserves } from '../../../../src/custody/reserves/report.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { verifyLedger } from '../../../../src/ledger/verify.ts';
import {
  base64,
  type Facilitator,
  firstTermsOf,
  openFacilitator,
  receiptHeader,
  sells,
  startSeller,
  termsOf,
} from '../../../support/seller.ts';
import { useService } from '../../../support/service.ts';
import { until } from '../../../support/until.ts';

const seller = await startSeller();
const service = useService({
  env: { ALLOW_PRIVATE_HOSTS: seller.host },
  settings: { purchases: { timeoutMs: 25_000 } },
});

let ada: string;
let facilitator: Facilitator;

beforeAll(async () => {
  ada = await newRich(10);
  facilitator = await openFacilitator(service.database);
});

async function newRich(amount: number): Promise<string> {
  const { key } = await service.client.register();
  const { status } = await service.client.post('/sandbox/fund', { amount }, key);
  expect(status).toBe(200);
  return key;
}

const pay = (body: object, { key = ada, headers = {} }: { key?: string; headers?: Record<string, string> } = {}) =>
  service.client.request('POST', '/nano/pay', { key, body, headers });
const balance = async (key = ada) => (await service.client.get('/circle/balance', key)).body.USDC as string;

async function isFinished(id: string, key = ada) {
  return until(`${id} to be finished`, async () => {
    const { body } = await service.client.get(`/nano/purchases/${id}`, key);
    return body.status === 'pending' ? undefined : body;
  });
}

/** What does not agree on Polygon at this very moment; the route remembers for some seconds. */
async function differences(): Promise<string[]> {
  const networks = new Map([['MATIC', facilitator.network] as const]);
  const parts = { db: service.database.db, networks, logger: createLogger('silent'), chainTimeoutMs: 30_000 };
  const { reserves } = await reportReserves(parts);
  return reserves.flatMap(({ asset, difference }) => (difference === '0' ? [] : [`${asset}: ${difference}`]));
}

async function checkMoney(): Promise<void> {
  expect(await differences()).toEqual([]);
  const { db } = service.database;
  expect((await verifyLedger(db)).problems).toEqual([]);
  const networks = new Map([['MATIC', facilitator.network] as const]);
  expect(await reconcile({ db, networks, sagas: sagasOf(features) })).toEqual([]);
}

/** An honest seller: it submits what it is given, and answers. */
function sellsHonestly(terms: { x402Version: number } = termsOf(seller)): void {
  sells(seller, terms, async (payment, _asked, response) => {
    const transaction = await facilitator.submit(payment);
    response
      .writeHead(200, { 'content-type': 'text/plain', ...receiptHeader(payment.version, transaction) })
      .end('the goods');
  });
}

test('a forecast is bought from the seller of the sandbox', async () => {
  const { demoSeller } = (await service.client.get('/sandbox')).body;
  const { status, body } = await pay({ url: `${demoSeller.url}?city=Porto`, maxAmount: 0.05 });
  expect(status).toBe(200);
  expect(body).toMatchObject({
    status: 200,
    headers: { 'content-type': 'application/json; charset=utf-8' },
    body: '{"city":"Porto","tomorrow":"fog"}',
    encoding: 'utf8',
    truncated: false,
    paid: 0.01,
    payment: {
      id: expect.stringMatching(/^pur_/),
      amount: 0.01,
      currency: 'USDC',
      network: 'eip155:137',
      receipt: { success: true },
      statusUrl: `${service.url}/api/nano/purchases/${body.payment.id}`,
    },
  });
  expect(await isFinished(body.payment.id)).toMatchObject({
    status: 'paid',
    amount: 0.01,
    txHash: body.payment.transaction,
    sellerStatus: 200,
    error: null,
    answer: { body: body.body },
  });
  expect(await balance()).toBe('9.99');
  await checkMoney();
});

describe.each([
  [2, () => termsOf(seller)],
  [1, () => firstTermsOf(seller)],
] as const)('a seller that speaks version %i', (version, terms) => {
  test('is paid what it asks for, by a signature of the house, and its answer comes as it is', async () => {
    const [before, asked] = [await balance(), seller.asked.length];
    sellsHonestly(terms());
    const { status, body } = await pay({
      url: `${seller.url}?q=1`,
      method: 'POST',
      body: { a: [1] },
      headers: { 'X-Mine': 'yes', Authorization: 'Bearer for-the-seller' },
      maxAmount: 0.01,
    });
    expect({ status, body }).toMatchObject({
      status: 200,
      body: { status: 200, body: 'the goods', encoding: 'utf8', paid: 0.01, payment: { payTo: seller.payTo } },
    });
    const [first, second] = seller.asked.slice(asked);
    for (const one of [first, second]) {
      expect(one).toMatchObject({ method: 'POST', path: '/paid?q=1', body: '{"a":[1]}' });
      expect(one?.headers).toMatchObject({
        'x-mine': 'yes',
        authorization: 'Bearer for-the-seller',
        'content-type': 'application/json',
        'user-agent': 'Paywright',
      });
      expect(JSON.stringify(one?.headers)).not.toContain(ada);
    }
    expect(first?.payment).toBeUndefined();
    expect(second?.payment).toMatchObject({
      version,
      authorization: { to: seller.payTo, value: '10000', validAfter: '0', nonce: body.payment.nonce },
    });
    if (version === 2) {
      expect(second?.payment?.content).toMatchObject({
        accepted: termsOf(seller).accepts[0],
        resource: { url: seller.url },
      });
    } else {
      expect(second?.payment?.content).toMatchObject({ x402Version: 1, scheme: 'exact', network: 'polygon' });
    }
    expect((await isFinished(body.payment.id)).status).toBe('paid');
    expect(Number(before) - Number(await balance())).toBeCloseTo(0.01, 10);
    await checkMoney();
  });
});

test('what is free is passed on and costs nothing', async () => {
  const before = await balance();
  seller.answer = (_asked, response) =>
    void response.writeHead(404, { 'content-type': 'image/png' }).end(Buffer.from([0x89, 0x50, 0, 0xff]));
  const { status, body } = await pay({ url: seller.url, maxAmount: 1 });
  expect({ status, body }).toMatchObject({
    status: 200,
    body: { status: 404, body: 'iVAA/w==', encoding: 'base64', truncated: false, paid: 0, payment: null },
  });
  expect(await balance()).toBe(before);
});

test('whoever pays more than calls cost pays the fee of a withdrawal, also in parts and at once', async () => {
  const key = await newRich(100);
  const asks = (usdc: number) => sellsHonestly(termsOf(seller, { amount: String(usdc * 1_000_000) }));
  asks(12);
  // 2 USDC are above what is free.
  expect(await pay({ url: seller.url, maxAmount: 12 }, { key })).toMatchObject({
    status: 409,
    body: { code: 'price_above_maximum', price: 12, fee: 0.03 },
  });
  expect(await balance(key)).toBe('100');
  const { body } = await pay({ url: seller.url, maxAmount: 13 }, { key });
  expect(body).toMatchObject({ paid: 12.03, payment: { amount: 12, fee: 0.03 } });
  expect(await isFinished(body.payment.id, key)).toMatchObject({ status: 'paid', amount: 12, fee: 0.03 });
  expect(await balance(key)).toBe('87.97');
  asks(4);
  const more = await Promise.all([1, 2, 3, 4].map(() => pay({ url: seller.url, maxAmount: 5 }, { key })));
  for (const { body: one } of more) await isFinished(one.payment.id, key);
  // 28 USDC in all, of which 18 cost 1.49 %.
  expect(await balance(key)).toBe('71.732');
  await checkMoney();
});

describe('the same request under one Idempotency-Key', () => {
  test('is paid once and answered alike, however often and at whatever time it comes', async () => {
    sellsHonestly();
    const headers = { 'Idempotency-Key': 'once' };
    const before = seller.asked.length;
    const wanted = { url: seller.url, maxAmount: 1 };
    const together = await Promise.all([1, 2, 3].map(() => pay(wanted, { headers })));
    const answered = together.filter(({ status }) => status === 200);
    expect(answered.length).toBeGreaterThan(0);
    for (const { status, body } of together) {
      if (status !== 200)
        expect({ status, body }).toMatchObject({ status: 409, body: { code: 'idempotency_in_progress' } });
    }
    const [first] = answered;
    await isFinished(first?.body.payment.id);
    const again = await pay(wanted, { headers });
    expect(again.body).toEqual(first?.body);
    expect(again.headers.get('idempotency-replayed')).toBe('true');
    expect(answered.map(({ body }) => body)).toEqual(answered.map(() => first?.body));
    expect(seller.asked.slice(before).filter(({ payment }) => payment !== undefined)).toHaveLength(1);
    expect(await pay({ ...wanted, maxAmount: 2 }, { headers })).toMatchObject({
      status: 422,
      body: { code: 'idempotency_mismatch' },
    });
  });

  test('is not asked again when it was free either', async () => {
    let count = 0;
    seller.answer = (_asked, response) => void response.end(`free ${++count}`);
    const headers = { 'Idempotency-Key': 'free' };
    const first = await pay({ url: seller.url, maxAmount: 1 }, { headers });
    const again = await pay({ url: seller.url, maxAmount: 1 }, { headers });
    expect(first.body).toMatchObject({ body: 'free 1', paid: 0 });
    expect(again.body).toEqual(first.body);
  });

  test('may succeed after it was refused', async () => {
    sellsHonestly(termsOf(seller, { amount: '20000' }));
    const poor = (await service.client.register()).key;
    const headers = { 'Idempotency-Key': 'later' };
    const wanted = { url: seller.url, maxAmount: 1 };
    expect(await pay(wanted, { key: poor, headers })).toMatchObject({
      status: 400,
      body: { code: 'insufficient_balance' },
    });
    await service.client.post('/sandbox/fund', { amount: 1 }, poor);
    expect(await pay(wanted, { key: poor, headers })).toMatchObject({ status: 200, body: { paid: 0.02 } });
  });

  test('gives a failure of the seller again as well', async () => {
    sells(seller, termsOf(seller), (_payment, _asked, response) => void response.writeHead(500).end('oops'));
    const headers = { 'Idempotency-Key': 'failure' };
    const wanted = { url: seller.url, maxAmount: 1 };
    const first = await pay(wanted, { headers });
    expect(first).toMatchObject({
      status: 502,
      body: { code: 'seller_failed', answer: { status: 500, body: 'oops' } },
    });
    const { requestId: _, ...told } = first.body;
    expect((await pay(wanted, { headers })).body).toMatchObject(told);
  });
});

test('twenty at once are paid, and the reserves differ by nothing meanwhile', { tags: ['matrix'] }, async () => {
  const key = await newRich(1);
  sellsHonestly();
  let open = true;
  const watching = (async () => {
    while (open) {
      expect(await differences()).toEqual([]);
      await sleep(100);
    }
  })();
  onTestFinished(async () => {
    open = false;
    await watching;
  });
  // On a busy machine some of them are told to come again.
  const payNth = (n: number) =>
    until('it to be taken', async () => {
      const headers = { 'idempotency-key': `one of twenty ${n}` };
      const reply = await pay({ url: seller.url, maxAmount: 0.01 }, { key, headers });
      return reply.status === 503 ? undefined : reply;
    });
  const asked = await Promise.all(Array.from({ length: 20 }, (_, n) => payNth(n)));
  expect(asked.map(({ status }) => status)).toEqual(asked.map(() => 200));
  const ended = await Promise.all(asked.map(({ body }) => isFinished(body.payment.id, key)));
  open = false;
  await watching;
  expect(ended.map(({ status }) => status)).toEqual(ended.map(() => 'paid'));
  expect(await balance(key)).toBe('0.8');
  await checkMoney();

  const { body: first } = await service.client.get('/nano/purchases?limit=15', key);
  const { body: second } = await service.client.get(`/nano/purchases?limit=15&cursor=${first.nextCursor}`, key);
  expect([...first.purchases, ...second.purchases].map(({ id }) => id)).toEqual(
    asked
      .map(({ body }) => body.payment.id)
      .sort()
      .reverse(),
  );
  expect((await service.client.get('/nano/purchases?status=paid&limit=100', key)).body.purchases).toHaveLength(20);
  expect((await service.client.get('/nano/purchases?status=returned', key)).body.purchases).toEqual([]);
  const { transfers } = (await service.client.get('/circle/transfers?limit=1', key)).body;
  expect(transfers).toMatchObject([
    { direction: 'sent', type: 'purchase', amount: 0.01, description: `${seller.host}/paid` },
  ]);
});

test('a stranger sees nothing of it', async () => {
  sellsHonestly();
  const { body } = await pay({ url: seller.url, maxAmount: 1 });
  const grace = (await service.client.register()).key;
  expect(await service.client.get(`/nano/purchases/${body.payment.id}`, grace)).toMatchObject({
    status: 404,
    body: { code: 'purchase_not_found' },
  });
  expect((await service.client.get('/nano/purchases', grace)).body).toEqual({ purchases: [], nextCursor: null });
  expect(await service.client.post('/nano/pay', { url: seller.url, maxAmount: 1 })).toMatchObject({ status: 401 });
});

describe('what we sell ourselves', () => {
  const spellings = (url: string) => [url, url.replace('127.0.0.1', 'localhost'), url.replace('127.0.0.1', '[::1]')];

  test('is charged from the balance at once, however our address is spelt', async () => {
    const key = await newRich(1);
    const path = '/api/nano/lookup?handle=PA-00000000';
    for (const url of spellings(`${service.url}${path}`)) {
      expect(await pay({ url, maxAmount: 0.01 }, { key })).toMatchObject({
        status: 200,
        body: {
          status: 200,
          headers: { 'content-type': 'application/json; charset=utf-8' },
          body: '{"found":false,"handle":null}',
          encoding: 'utf8',
          paid: 0.0001,
          payment: { id: expect.stringMatching(/^trf_/), amount: 0.0001, network: null, nonce: null, receipt: null },
        },
      });
    }
    expect(await balance(key)).toBe('0.9997');
    expect((await service.client.get('/nano/purchases', key)).body.purchases).toEqual([]);
    const headers = { 'Idempotency-Key': 'own' };
    const first = await pay({ url: `${service.url}${path}`, maxAmount: 0.01 }, { key, headers });
    const again = await pay({ url: `${service.url}${path}`, maxAmount: 0.01 }, { key, headers });
    expect(again.body).toEqual(first.body);
    expect(await balance(key)).toBe('0.9996');
    await checkMoney();
  });

  test('costs nothing when it is refused, and nothing else of ours is sold', async () => {
    const key = await newRich(1);
    const ask = (path: string, more: object = {}) =>
      pay({ url: `${service.url}${path}`, maxAmount: 0.01, ...more }, { key });
    expect(await ask('/api/nano/lookup?handle=PA-00000000', { maxAmount: 0.00001 })).toMatchObject({
      status: 409,
      body: { code: 'price_above_maximum', price: 0.0001 },
    });
    expect(await ask('/api/nano/lookup?handle=x')).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
    expect(await ask('/api/reserves')).toMatchObject({ status: 400, body: { code: 'seller_url_refused' } });
    expect(await ask('/api/nano/lookup?handle=PA-00000000', { method: 'POST' })).toMatchObject({
      status: 400,
      body: { code: 'seller_url_refused' },
    });
    const poor = (await service.client.register()).key;
    const url = `${service.url}/api/nano/lookup?handle=PA-00000000`;
    expect(await pay({ url, maxAmount: 1 }, { key: poor })).toMatchObject({
      status: 400,
      body: { code: 'insufficient_balance' },
    });
    expect(await balance(key)).toBe('1');
  });
});

test('a payment id is given to a seller that knows payments by their ids', async () => {
  const extension = { info: { required: true }, schema: { type: 'object' } };
  sellsHonestly({ ...termsOf(seller), extensions: { 'payment-identifier': extension } } as never);
  const { body } = await pay({ url: seller.url, maxAmount: 1 });
  expect(seller.asked.at(-1)?.payment?.content.extensions).toEqual({
    'payment-identifier': { ...extension, info: { required: true, id: body.payment.id } },
  });
});

test('of several offers the cheapest is taken that can be paid', async () => {
  const [offer] = termsOf(seller).accepts;
  const accepts = [
    { ...offer, network: 'eip155:8453', amount: '1' },
    { ...offer, amount: '30000' },
    { scheme: 'barter', goats: 2 },
    { ...offer, amount: '20000', extra: { name: 'Wrong', version: '9' } },
  ];
  sellsHonestly({ ...termsOf(seller), accepts } as never);
  const { body } = await pay({ url: seller.url, maxAmount: 1 });
  // Signed for the token's own name and version, whatever the seller says of them: the chain has taken it.
  expect(body).toMatchObject({ status: 200, paid: 0.02 });
  expect(seller.asked.at(-1)?.payment?.content.accepted).toEqual(accepts[3]);
  expect((await isFinished(body.payment.id)).status).toBe('paid');
});

describe('is refused with a code that says why, and nothing is paid:', () => {
  const refused: readonly (readonly [string, object, number, string])[] = [
    ['no URL', { maxAmount: 1 }, 400, 'invalid_request'],
    ['no maximum', { url: 'https://example.com' }, 400, 'invalid_request'],
    ['a maximum of 0', { url: 'https://example.com', maxAmount: 0 }, 400, 'invalid_request'],
    ['seven decimals', { url: 'https://example.com', maxAmount: 0.0000001 }, 400, 'invalid_request'],
    ['a body with GET', { url: 'https://example.com', maxAmount: 1, body: 'x' }, 400, 'invalid_request'],
    ['an unknown method', { url: 'https://example.com', maxAmount: 1, method: 'TRACE' }, 400, 'invalid_request'],
    ['a header of ours', { url: 'https://example.com', maxAmount: 1, headers: { Host: 'x' } }, 400, 'invalid_request'],
    ['a payment', { url: 'https://example.com', maxAmount: 1, headers: { 'X-Payment': 'x' } }, 400, 'invalid_request'],
    [
      'two lines',
      { url: 'https://example.com', maxAmount: 1, headers: { 'x-a': 'x\r\nHost: y' } },
      400,
      'invalid_request',
    ],
    ['no header name', { url: 'https://example.com', maxAmount: 1, headers: { 'a b': 'x' } }, 400, 'invalid_request'],
    [
      'a header twice',
      { url: 'https://example.com', maxAmount: 1, headers: { 'X-A': 'x', 'x-a': 'y' } },
      400,
      'invalid_request',
    ],
    [
      'long headers',
      { url: 'https://example.com', maxAmount: 1, headers: { 'x-a': 'x'.repeat(9_000) } },
      400,
      'invalid_request',
    ],
    [
      'many headers',
      {
        url: 'https://example.com',
        maxAmount: 1,
        headers: Object.fromEntries(Array.from({ length: 31 }, (_, n) => [`x-h${n}`, 'x'])),
      },
      400,
      'invalid_request',
    ],
    ['plain http', { url: 'http://example.com/', maxAmount: 1 }, 400, 'seller_url_refused'],
    ['a private address', { url: 'https://10.0.0.1/', maxAmount: 1 }, 400, 'seller_url_refused'],
    ['a file', { url: 'file:///etc/passwd', maxAmount: 1 }, 400, 'seller_url_refused'],
  ];

  test.each(refused)('%s', async (_, body, status, code) => {
    expect(await pay(body)).toMatchObject({ status, body: { code } });
  });

  const offers: readonly (readonly [string, object, number, string])[] = [
    ['a price above the maximum', { amount: '1000001' }, 409, 'price_above_maximum'],
    ['a price above the float', { amount: '1000000001' }, 409, 'price_above_maximum'],
    ['a price of nothing', { amount: '0' }, 409, 'terms_unpayable'],
    ['a price beyond all money', { amount: '9'.repeat(70) }, 409, 'terms_unpayable'],
    ['a price that is none', { amount: '-5' }, 409, 'terms_unpayable'],
    ['another chain', { network: 'eip155:1' }, 409, 'terms_unpayable'],
    ['a name of the first version', { network: 'polygon' }, 409, 'terms_unpayable'],
    ['another token', { asset: '0x2791Bca1f2de4661ED88A30C99A7a9449Aa84174' }, 409, 'terms_unpayable'],
    ['no token', { asset: 'USD' }, 409, 'terms_unpayable'],
    ['another scheme', { scheme: 'upto' }, 409, 'terms_unpayable'],
    ['another way to move it', { extra: { assetTransferMethod: 'permit2' } }, 409, 'terms_unpayable'],
    ['nobody to be paid', { payTo: `0x${'0'.repeat(40)}` }, 409, 'terms_unpayable'],
    ['the token itself to be paid', { payTo: termsOf(seller).accepts[0]?.asset }, 409, 'terms_unpayable'],
    ['a role to be paid', { payTo: 'merchant' }, 409, 'terms_unpayable'],
  ];

  test.each(offers)('%s', async (_, change, status, code) => {
    const before = await balance();
    sellsHonestly(termsOf(seller, change));
    const asked = seller.asked.length;
    expect(await pay({ url: seller.url, maxAmount: 1 })).toMatchObject({ status, body: { code } });
    expect(seller.asked).toHaveLength(asked + 1);
    expect(await balance()).toBe(before);
  });

  test('the price now is told', async () => {
    sellsHonestly(termsOf(seller, { amount: '1500000' }));
    expect((await pay({ url: seller.url, maxAmount: 1.4 })).body).toMatchObject({
      code: 'price_above_maximum',
      price: 1.5,
      maxAmount: 1.4,
      currency: 'USDC',
    });
  });

  test('a price that is more than is ever set aside', async () => {
    sellsHonestly(termsOf(seller, { amount: '1000000001' }));
    expect(await pay({ url: seller.url, maxAmount: 5_000 }, { key: await newRich(5_000) })).toMatchObject({
      status: 409,
      body: { code: 'price_above_float', mostAmount: 1_000 },
    });
  });

  test('a wallet of the house that wants to be paid', async () => {
    const { rows } = await service.database.db.query<{ address: string }>('SELECT address FROM house_wallets');
    for (const { address } of rows.slice(0, 3)) {
      sellsHonestly(termsOf(seller, { payTo: address.toLowerCase() }));
      expect(await pay({ url: seller.url, maxAmount: 1 })).toMatchObject({
        status: 409,
        body: { code: 'terms_unpayable', accepts: [{ scheme: 'exact', payTo: address.toLowerCase() }] },
      });
    }
  });

  const unreadable: readonly (readonly [string, Record<string, string>, string])[] = [
    ['nothing', {}, ''],
    ['no JSON', {}, '{'],
    ['a list', {}, '[]'],
    ['another version', {}, '{"x402Version":7,"accepts":[]}'],
    ['no base64', { 'payment-required': '{}' }, ''],
    ['offers that are none', { 'payment-required': base64({ x402Version: 2, accepts: 'x' }) }, ''],
  ];

  test.each(unreadable)('terms of %s', async (_, headers, body) => {
    seller.answer = (_asked, response) => void response.writeHead(402, headers).end(body);
    expect(await pay({ url: seller.url, maxAmount: 1 })).toMatchObject({
      status: 502,
      body: { code: 'terms_unreadable' },
    });
  });
});
