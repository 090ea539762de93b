import { beforeAll, describe, expect, test } from 'vitest';
import { useService } from '../../support/service.ts';

/** A client may spell a request in several ways, as long as only one thing can be meant. */

const service = useService();
type User = Awaited<ReturnType<typeof service.client.register>>;
let ada: User;
let bob: User;

beforeAll(async () => {
  [ada, bob] = [await service.client.register(), await service.client.register()];
  const funded = await service.client.post('/sandbox/fund', { amount: '1000.00' }, ada.key);
  expect(funded).toMatchObject({ status: 200, body: { amount: 1000, currency: 'USDC' } });
});

function post(path: string, body: unknown, idempotencyKey?: string) {
  const headers = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
  return service.client.request('POST', path, { key: ada.key, body, headers });
}

describe('null counts as left out', () => {
  test('in optional fields and in those with a default', async () => {
    const transfer = { to: bob.handle, amount: 1, currency: 'USDC', description: null };
    expect((await post('/agent/transfer', transfer)).status).toBe(200);
    const invoice = { toHandle: bob.handle, toEmail: null, amount: 1, currency: 'EURC', description: 'x', dueAt: null };
    expect(await post('/invoices', invoice)).toMatchObject({ status: 201, body: { dueAt: null } });
    expect(await post('/circle/buy-session', { amount: 5, currency: null })).toMatchObject({
      status: 200,
      body: { currency: 'USDC' },
    });
  });

  test('in required fields, which are missed', async () => {
    const reply = await post('/agent/transfer', { to: null, amount: null, currency: null });
    expect(reply).toMatchObject({ status: 400, body: { detail: 'to is required.' } });
    expect(reply.body.errors).toEqual(['to', 'amount', 'currency'].map((path) => ({ path, message: 'is required' })));
  });

  test('where no body is needed', async () => {
    expect((await post('/circle/wallet', null)).status).toBe(200);
  });

  test('and under one Idempotency-Key null and left out are one request', async () => {
    const pay = (more: object) =>
      post('/agent/transfer', { to: bob.handle, amount: 1, currency: 'USDC', ...more }, 'null and absent');
    const first = await pay({ description: null });
    expect(first.status).toBe(200);
    expect((await pay({})).body).toEqual(first.body);
    expect((await pay({ description: 'x' })).status).toBe(422);
  });

  test('but with PATCH it clears a field, and a name cannot be cleared', async () => {
    const patch = (body: object) => service.client.request('PATCH', '/account', { key: bob.key, body });
    expect(await patch({ shippingAddress: 'Bob, 1 Main St, 94105 San Francisco, US' })).toMatchObject({ status: 200 });
    expect(await patch({ shippingAddress: null })).toMatchObject({ status: 200, body: { shippingAddress: null } });
    expect(await patch({ name: null })).toMatchObject({ status: 400, body: { errors: [{ path: 'name' }] } });
  });
});

describe('amounts are numbers or decimal text', () => {
  test.each([10, '10', '10.00'])('a transfer of %j', async (amount) => {
    const reply = await post('/agent/transfer', { to: bob.handle, amount, currency: 'USDC' });
    expect(reply).toMatchObject({ status: 200, body: { amount: 10, fee: 0.15, recipientAmount: 9.85 } });
  });

  test.each(['.5', '0.5', '0.50'])('a quote of %s', async (amount) => {
    const reply = await service.client.get(`/agent/transfer/quote?to=${bob.handle}&amount=${amount}`);
    expect(reply).toMatchObject({ status: 200, body: { amount: 0.5 } });
  });

  test.each(['5', 5])('an invoice, a link, a withdrawal and the faucet: %j', async (amount) => {
    const invoice = { toHandle: bob.handle, amount, currency: 'USDC', description: 'Lunch' };
    expect(await post('/invoices', invoice)).toMatchObject({ status: 201, body: { amount: 5 } });
    expect(await post('/circle/buy-session', { amount })).toMatchObject({ status: 200, body: { amount: 5 } });
    const address = '0x90F79bf6EB2c4f870365E785982E1f101E93b906';
    expect(await post('/circle/withdraw', { amount, address })).toMatchObject({ status: 200, body: { gross: 5 } });
    const faucet = await post('/sandbox/faucet', { amount, address, chain: 'MATIC', currency: 'USDC' });
    expect(faucet).toMatchObject({ status: 200, body: { amount: 5 } });
  });

  test('swaps and bridges take numbers, and answer text', async () => {
    const quoted = await service.client.get('/swap/quote?from=USDC&to=DAI&amount=.5', ada.key);
    expect(quoted).toMatchObject({ status: 200, body: { amountIn: '0.5' } });
    const swapped = await post('/swap/execute', { from: 'USDC', to: 'DAI', amount: 1.5 });
    expect(swapped).toMatchObject({ status: 200, body: { amountIn: '1.5' } });
    const bridged = await post('/cross-chain/transfer', { from: 'MATIC', to: 'ARB', amount: 20, maxGasFee: 10 });
    expect(bridged).toMatchObject({ status: 200, body: { amount: expect.stringMatching(/^\d/) } });
    const tooDear = await post('/cross-chain/transfer', { from: 'MATIC', to: 'ARB', amount: '20', maxGasFee: '-1' });
    expect(tooDear).toMatchObject({ status: 400, body: { errors: [{ path: 'maxGasFee' }] } });
  });

  test.each(['1e3', '1,5', ' ', '0x1', 'Infinity', '-1', 1e-7, '', {}, true])('%j is refused', async (amount) => {
    const reply = await post('/agent/transfer', { to: bob.handle, amount, currency: 'USDC' });
    expect(reply).toMatchObject({ status: 400, body: { code: 'invalid_request', errors: [{ path: 'amount' }] } });
  });

  test('one Idempotency-Key, one amount in three spellings: paid once', async () => {
    const pay = (amount: unknown) => post('/agent/transfer', { to: bob.handle, amount, currency: 'USDC' }, 'spelling');
    const first = await pay(7);
    expect(first.status).toBe(200);
    for (const amount of ['7', '7.00', '07']) {
      const again = await pay(amount);
      expect([again.status, again.body]).toEqual([200, first.body]);
      expect(again.headers.get('idempotency-replayed')).toBe('true');
    }
    expect(await pay('7.01')).toMatchObject({ status: 422, body: { code: 'idempotency_mismatch' } });
  });
});

describe('a trailing slash', () => {
  test.each([
    ['GET', '/circle/balance/'],
    ['GET', '/circle/transfers/?limit=1'],
    ['GET', '/invoices/'],
    ['GET', '/nano/'],
  ])('%s %s', async (method, path) => {
    const reply = await service.client.request(method, path, { key: ada.key });
    const plain = await service.client.request(method, path.replace(/\/(?=\?|$)/, ''), { key: ada.key });
    expect([reply.status, reply.body]).toEqual([200, plain.body]);
  });

  test('is not part of an id, and two of them are another address', async () => {
    const { body } = await post('/invoices/', { toHandle: bob.handle, amount: 1, currency: 'USDC', description: 'x' });
    expect((await service.client.get(`/invoices/${body.id}/`, ada.key)).body).toEqual(body);
    expect((await service.client.request('DELETE', '/webhooks/', { key: ada.key })).status).toBe(405);
    for (const path of ['/circle/balance//', '/', '//']) {
      expect((await service.client.get(path, ada.key)).status).toBe(404);
    }
  });

  test('a paid call asks for the same price, for the same resource', async () => {
    const query = `amount=5&currency=USDC&action=transfer`;
    const [slash, plain] = [
      await service.client.get(`/nano/quote/?${query}`),
      await service.client.get(`/nano/quote?${query}`),
    ];
    expect([slash.status, slash.body]).toEqual([402, plain.body]);
  });

  test('needs the same key', async () => {
    expect((await service.client.get('/circle/balance/')).status).toBe(401);
  });
});

describe('a JSON object', () => {
  const send = (headers: Record<string, string>, body: string) =>
    fetch(`${service.url}/api/circle/buy-session`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ada.key}`, ...headers },
      // As bytes, so that nothing adds a Content-Type.
      body: new TextEncoder().encode(body),
    });

  test.each([
    {},
    { 'content-type': 'application/x-www-form-urlencoded' },
    { 'content-type': 'application/x-www-form-urlencoded; charset=UTF-8' },
    { 'content-type': 'application/vnd.paywright+json' },
    { 'content-type': 'application/json; charset=utf-8' },
    { 'content-type': 'APPLICATION/JSON' },
  ])('with %j is read', async (headers) => {
    const response = await send(headers, ' {"amount": 5}');
    expect([response.status, ((await response.json()) as { amount: number }).amount]).toEqual([200, 5]);
  });

  test.each([
    [{}, 'amount=5'],
    [{}, '[5]'],
    [{ 'content-type': 'text/plain' }, '{"amount": 5}'],
    [{ 'content-type': 'multipart/form-data; boundary=x' }, '{"amount": 5}'],
    [{ 'content-type': 'application/octet-stream' }, '{"amount": 5}'],
    [{ 'content-type': 'application/x-www-form-urlencodedx' }, '{"amount": 5}'],
  ])('%j %s is not one', async (headers, body) => {
    const response = await send(headers as Record<string, string>, body);
    const problem = (await response.json()) as { code: string; detail: string };
    expect([response.status, problem.code]).toEqual([415, 'unsupported_media_type']);
    expect(problem.detail).toContain('"Content-Type: application/json"');
  });

  test('where no body is needed, an empty form is none', async () => {
    const response = await fetch(`${service.url}/api/circle/wallet`, {
      method: 'POST',
      headers: { authorization: `Bearer ${ada.key}`, 'content-type': 'application/x-www-form-urlencoded' },
      body: '',
    });
    expect(response.status).toBe(200);
  });
});
