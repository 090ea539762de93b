import { expect, test } from 'vitest';
import { askPrice, paymentHeader, quotePath, receiptsOf, sign, termsOf, useNano } from '../../../support/nano.ts';
import { until } from '../../../support/until.ts';

// One charge, one answer. The credit is less than any price, so every payment has to arrive first.
const { service, client, shop } = useNano({
  env: { NANO_CREDIT_PER_PAYER: '0.00001' },
});

const searchPath = '/nano/search?q=mug&website=demo-shop.example';
const balanceOf = async (key: string) => (await client.get('/circle/balance', key)).body.USDC;

test('an Idempotency-Key is charged once and gets one answer, from a balance too', async () => {
  const { key } = await client.register();
  await client.post('/sandbox/fund', { amount: 1 }, key);
  const headers = { 'idempotency-key': 'one-search' };
  const ask = (path = searchPath) => client.request('GET', path, { key, headers });
  // Every search makes a page of its own.
  const replies = await Promise.all([1, 2, 3].map(() => ask()));
  const again = await ask();
  const answered = [...replies, again].filter(({ status }) => status === 200);
  expect(answered.length).toBeGreaterThanOrEqual(2);
  expect(new Set(answered.map(({ body }) => body.previewUrl)).size).toBe(1);
  for (const reply of replies.filter(({ status }) => status !== 200)) {
    expect(reply).toMatchObject({ status: 409, body: { code: 'idempotency_in_progress' } });
  }
  expect(again.headers.get('idempotency-replayed')).toBe('true');
  expect(await ask(quotePath)).toMatchObject({ status: 422, body: { code: 'idempotency_mismatch' } });
  expect(await balanceOf(key)).toBe('0.999');
});

test('a key that could not be charged is charged when there is enough', async () => {
  const { key } = await client.register();
  const headers = { 'idempotency-key': 'later' };
  const ask = () => client.request('GET', quotePath, { key, headers });
  expect(await ask()).toMatchObject({ status: 402, body: { error: 'insufficient_funds' } });
  await client.post('/sandbox/fund', { amount: 1 }, key);
  const first = await ask();
  expect(first.status).toBe(200);
  expect(first.headers.get('idempotency-replayed')).toBeNull();
  expect(await balanceOf(key)).toBe('0.9999');
});

test('HEAD tells the terms and charges nothing, whoever asks', async () => {
  const { key } = await client.register();
  await client.post('/sandbox/fund', { amount: 1 }, key);
  const payer = await shop.payer(100n);
  const terms = await askPrice(client);
  const paid = paymentHeader(await sign(payer, terms), terms);
  for (const headers of [{}, paid, { authorization: `Bearer ${key}` }]) {
    const reply = await fetch(`${service.url}/api${quotePath}`, { method: 'HEAD', headers });
    expect(reply.status).toBe(402);
    expect(reply.headers.get('payment-required')).not.toBeNull();
    expect(reply.headers.get('payment-response')).toBeNull();
    expect(await reply.text()).toBe('');
  }
  expect(await balanceOf(key)).toBe('1');
  const { rowCount } = await service.database.db.query('SELECT FROM payment_claims WHERE payer = lower($1)', [
    payer.address,
  ]);
  expect(rowCount).toBe(0);
});

test('a payment that has arrived for a call that failed pays for another one', async () => {
  const payer = await shop.payer(1_000n);
  const terms = await askPrice(client, '/nano/search');
  const headers = paymentHeader(await sign(payer, terms), terms);
  const ask = (path: string) =>
    until('the payment to arrive', async () => {
      const reply = await client.request('GET', path, { headers });
      return reply.status === 202 ? undefined : reply;
    });
  const failed = await ask('/nano/search?q=mug&website=no-such-shop.example');
  expect(failed).toMatchObject({ status: 502, body: { code: 'merchant_unreachable' } });
  expect(await shop.held(payer.address)).toBe(0n);
  // Not for a call of another price.
  expect(termsOf(await ask(quotePath)).error).toBe('invalid_exact_evm_payload_authorization_value_mismatch');
  const served = await ask(searchPath);
  expect(served.status).toBe(200);
  expect(receiptsOf(served).second).toMatchObject({ success: true, payer: payer.address });
  expect((await ask(searchPath)).body).toEqual(served.body);
  expect((await ask('/nano/search?q=bowl&website=demo-shop.example')).status).toBe(402);
});
