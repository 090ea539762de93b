import { describe, expect, test } from 'vitest';
import { features } from '../../../../src/app/features.ts';
import { sagasOf } from '../../../../src/app/listed-feature.ts';
import { reconcile } from '../../../../src/custody/reserves/reconcile.ts';
import { houseWallet } from '../../../../src/custody/wallets/house-wallets.ts';
import { verifyLedger } from '../../../../src/ledger/verify.ts';
import { askPrice, pay, paymentHeader, quotePath, receiptsOf, sign, usdc, useNano } from '../../../support/nano.ts';
import { until } from '../../../support/until.ts';

const { service, client, shop } = useNano();

const treasury = async () => (await houseWallet(service.database.db, 'treasury', 'MATIC')).address;

test('the status document says what is sold, for how much and to whom it is paid', async () => {
  const { body, headers } = await client.get('/nano');
  expect(body).toEqual({
    status: 'ok',
    service: 'Paywright',
    protocol: 'x402',
    version: 1,
    network: 'eip155:137',
    asset: usdc,
    payTo: await treasury(),
    endpoints: {
      'GET /api/nano/search': { price: '0.001 USDC', params: ['q', 'website'] },
      'GET /api/nano/lookup': { price: '0.0001 USDC', params: ['email', 'handle'] },
      'GET /api/nano/quote': { price: '0.0001 USDC', params: ['amount', 'currency', 'action'] },
    },
    docs: `${service.url}/docs`,
  });
  expect(headers.get('cache-control')).toBe('no-store');
  const known = await fetch(`${service.url}/.well-known/x402`);
  expect(await known.json()).toEqual(body);
  expect(known.headers.get('access-control-allow-origin')).toBe('*');
});

describe('the price', () => {
  test.each(['/nano/search', '/nano/lookup', '/nano/quote'])(
    'of %s is told to whoever asks for nothing, in both versions',
    async (path) => {
      const reply = await client.get(path);
      expect(reply.status).toBe(402);
      expect(reply.headers.get('cache-control')).toBe('no-store');
      expect(reply.headers.get('access-control-allow-origin')).toBe('*');
      expect(reply.headers.get('access-control-expose-headers')).toContain('PAYMENT-REQUIRED');
      const { first, second } = await askPrice(client, path);
      const amount = path === '/nano/search' ? '1000' : '100';
      const same = { scheme: 'exact', asset: usdc, payTo: await treasury(), extra: { name: 'USD Coin', version: '2' } };
      expect(first).toMatchObject({ ...same, network: 'polygon', maxAmountRequired: amount });
      expect(second).toMatchObject({ ...same, network: 'eip155:137', amount });
      expect(first.resource).toBe(`${service.url}/api${path}`);
    },
  );

  test.each([
    ['/nano/search?q=mug', 'website'],
    ['/nano/search?q=mug&website=http://10.0.0.1', 'website'],
    ['/nano/lookup?handle=nobody', 'handle'],
    ['/nano/quote?amount=-1&action=transfer', 'amount'],
    ['/nano/quote?amount=1&action=steal', 'action'],
    ['/nano/quote?amount=1&action=transfer&currency=DAI', 'currency'],
    ['/nano/quote?amount=1&action=transfer&colour=red', 'colour'],
  ])('is not asked for what no payment could make right: %s', async (path, field) => {
    const reply = await client.get(path);
    expect(reply).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ path: field }] } });
  });

  test('may be asked for by any web page', async () => {
    const reply = await fetch(`${service.url}/api/nano/quote`, { method: 'OPTIONS' });
    const allowed = reply.headers.get('access-control-allow-headers')?.toLowerCase();
    for (const name of ['payment-signature', 'x-payment', 'access-control-expose-headers']) {
      expect(allowed).toContain(name);
    }
  });
});

test.each([1, 2] as const)(
  'a payment of version %i is answered with a receipt and settled to the last unit',
  async (version) => {
    const payer = await shop.payer(250n);
    const before = await shop.held(await treasury());
    const reply = await pay(client, payer, { version });
    expect(reply).toMatchObject({ status: 200, body: { action: 'transfer', amount: 50, fee: 0.75, net: 49.25 } });
    const { first, second } = receiptsOf(reply);
    expect(first).toMatchObject({ success: true, transaction: '', network: 'polygon', payer: payer.address });
    expect(second).toMatchObject({ success: true, transaction: '', network: 'eip155:137', payer: payer.address });
    expect(first.paymentId).toBe(second.paymentId);

    const settled = await until('the payment to be settled', async () => {
      const { body } = await client.get(`/nano/payments/${second.paymentId}`);
      return body.status === 'settled' ? body : undefined;
    });
    expect(settled).toMatchObject({ served: true, amount: '0.0001', currency: 'USDC', payer: payer.address });
    expect(settled.transaction).toMatch(/^0x[0-9a-f]{64}$/);
    expect(await shop.held(payer.address)).toBe(150n);
    expect((await shop.held(await treasury())) - before).toBe(100n);
  },
);

test('ten replays at once run the call once, and all get the same answer and receipt', async () => {
  const payer = await shop.payer(1_000n);
  const terms = await askPrice(client, '/nano/search');
  const signed = await sign(payer, terms);
  const headers = paymentHeader(signed, terms);
  const path = '/nano/search?q=mug&website=demo-shop.example';
  const replies = await Promise.all(Array.from({ length: 10 }, () => client.request('GET', path, { headers })));
  expect(replies.map(({ status }) => status)).toEqual(replies.map(() => 200));
  // Every search makes a page of its own.
  expect(new Set(replies.map(({ body }) => body.previewUrl)).size).toBe(1);
  expect(new Set(replies.map((reply) => receiptsOf(reply).second.paymentId)).size).toBe(1);
  const again = await client.request('GET', path, { headers: paymentHeader(signed, terms, { version: 1 }) });
  expect(again.body).toEqual(replies[0]?.body);
  const { rowCount } = await service.database.db.query('SELECT FROM payment_claims WHERE payer = lower($1)', [
    payer.address,
  ]);
  expect(rowCount).toBe(1);
});

test('a lookup that finds nobody is an answer like any other', async () => {
  const { handle } = await client.register();
  const payer = await shop.payer(200n);
  expect((await pay(client, payer, { path: `/nano/lookup?handle=${handle}` })).body).toEqual({ found: true, handle });
  const nobody = await pay(client, payer, { path: '/nano/lookup?email=nobody@example.com' });
  expect(nobody).toMatchObject({ status: 200, body: { found: false, handle: null } });
});

test.each([
  ['amount=10&action=withdraw', { fee: 0.149, net: 9.851, currency: 'USDC' }],
  ['amount=10&action=shopping&currency=EURC', { fee: 0.15, total: 10.15, currency: 'EURC' }],
  ['amount=1.5&action=swap&currency=ETH', { fee: '0.0075', net: '1.4925', currency: 'ETH' }],
])('a quote for %s', async (query, expected) => {
  const payer = await shop.payer(100n);
  expect((await pay(client, payer, { path: `/nano/quote?${query}` })).body).toMatchObject(expected);
});

describe('whoever has an account', () => {
  const balance = async (key: string) => (await client.get('/circle/balance', key)).body.USDC;

  test('pays from the balance, to the last unit, once for each key of a request', async () => {
    const { key } = await client.register();
    await client.post('/sandbox/fund', { amount: 1 }, key);
    expect((await client.get(quotePath, key)).status).toBe(200);
    expect((await client.get(`/nano/lookup?email=nobody@example.com`, key)).body).toEqual({
      found: false,
      handle: null,
    });
    const headers = { 'idempotency-key': 'the-same' };
    const first = await client.request('GET', quotePath, { key, headers });
    const second = await client.request('GET', quotePath, { key, headers });
    expect(second.body).toEqual(first.body);
    expect(second.headers.get('idempotency-replayed')).toBe('true');
    const other = await client.request('GET', quotePath.replace('50', '60'), { key, headers });
    expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_mismatch' } });
    expect(await balance(key)).toBe('0.9997');
  });

  test('and no balance is told the price', async () => {
    const { key } = await client.register();
    const reply = await client.get(quotePath, key);
    expect(reply).toMatchObject({ status: 402, body: { error: 'insufficient_funds' } });
  });

  test('sees them gathered by the hour', async () => {
    const { key, handle } = await client.register();
    const { key: friend } = await client.register();
    await client.post('/sandbox/fund', { amount: 1 }, key);
    await client.post('/sandbox/fund', { amount: 1 }, friend);
    for (let call = 0; call < 3; call++) expect((await client.get(quotePath, key)).status).toBe(200);
    await client.post('/agent/transfer', { to: handle, amount: 0.1, currency: 'USDC' }, friend);
    for (let call = 0; call < 2; call++) expect((await client.get(quotePath, key)).status).toBe(200);

    const { transfers } = (await client.get('/circle/transfers', key)).body;
    const gathered = transfers.filter(({ type }: { type: string }) => type === 'nano');
    expect(gathered.length).toBeLessThanOrEqual(2);
    const sum = gathered.reduce((total: number, { amount }: { amount: number }) => total + amount * 1e6, 0);
    expect(Math.round(sum)).toBe(500);
    expect(gathered[0]).toMatchObject({ direction: 'sent', description: expect.stringMatching(/^[1-5] calls?$/) });
    expect(transfers.map(({ type }: { type: string }) => type)).toEqual(
      expect.arrayContaining(['nano', 'transfer', 'deposit']),
    );

    const month = new Date().toISOString().slice(0, 7);
    const statement = (await client.get(`/account/statement?month=${month}&currency=USDC`, key)).body;
    expect(statement.closingBalance).toBe('1.0995');
    expect(statement.lines.at(-1).balance).toBe('1.0995');
    expect(statement.lines.filter(({ type }: { type: string }) => type === 'nano').length).toBe(gathered.length);
  });
});

test('the books and the chain agree, and nothing has drifted', async () => {
  const { db } = service.database;
  await until('everything to be earned', async () => {
    const { rows } = await db.query('SELECT FROM payment_claims WHERE earned_at IS NULL');
    return rows.length === 0;
  });
  const { reserves } = (await client.get('/reserves')).body;
  expect(reserves.map(({ difference }: { difference: string }) => difference)).toEqual(reserves.map(() => '0'));
  expect((await verifyLedger(db)).problems).toEqual([]);
  expect(await reconcile({ db, networks: shop.networks, sagas: sagasOf(features) })).toEqual([]);
});
