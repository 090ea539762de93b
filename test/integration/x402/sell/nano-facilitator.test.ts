import type { IncomingMessage, ServerResponse } from 'node:http';
import { json } from 'node:stream/consumers';
import { afterAll, beforeEach, expect, test } from 'vitest';
import { listenHttp } from '../../../support/listening.ts';
import { askPrice, pay, paymentHeader, quotePath, receiptsOf, sign, termsOf, useNano } from '../../../support/nano.ts';
import { until } from '../../../support/until.ts';

/** What the facilitator elsewhere says, and what it was asked. */
const says = { verify: {} as unknown, settle: (() => ({})) as (asked: Asked) => unknown };
const asked: string[] = [];

interface Asked {
  readonly x402Version: number;
  readonly paymentPayload: unknown;
  readonly paymentRequirements: { readonly network: string };
}

async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
  asked.push(request.url ?? '');
  const body = (await json(request)) as Asked;
  const said = request.url === '/f/verify' ? says.verify : await says.settle(body);
  if (said === undefined) response.destroy();
  else response.setHeader('content-type', 'application/json').end(JSON.stringify(said));
}

const facilitator = await listenHttp((request, response) => void answer(request, response));
const { port } = facilitator;
afterAll(() => facilitator.close());

const { service, client, shop } = useNano({
  env: {
    X402_FACILITATOR_URL: `http://127.0.0.1:${port}/f`,
    ALLOW_PRIVATE_HOSTS: `127.0.0.1:${port}`,
  },
});
beforeEach(() => {
  asked.length = 0;
  says.verify = { isValid: true };
});

test('checks and settles in our place, and the chain has the last word', async () => {
  const payer = await shop.payer(100n);
  const terms = await askPrice(client);
  const signed = await sign(payer, terms);
  says.settle = async () => ({ success: true, transaction: await shop.submit(signed), network: 'eip155:137' });
  const reply = await client.request('GET', quotePath, { headers: paymentHeader(signed, terms) });
  expect(reply).toMatchObject({ status: 200, body: { fee: 0.75 } });
  expect(asked).toEqual(['/f/verify', '/f/settle']);
  const { paymentId } = receiptsOf(reply).second;
  await until(
    'it to be settled',
    async () => (await client.get(`/nano/payments/${paymentId}`)).body.status === 'settled',
  );
  await until('it to be earned', async () => {
    const { rows } = await service.database.db.query('SELECT FROM payment_claims WHERE earned_at IS NOT NULL');
    return rows.length === 1;
  });
});

test('is told the version and the terms as the payer has them', async () => {
  const payer = await shop.payer(100n);
  const networks: string[] = [];
  says.settle = ({ x402Version, paymentRequirements }) => {
    networks.push(`${x402Version} ${paymentRequirements.network}`);
    return { success: false, errorReason: 'insufficient_funds', transaction: '', network: paymentRequirements.network };
  };
  for (const version of [1, 2] as const) {
    expect(termsOf(await pay(client, payer, { version })).error).toBe('insufficient_funds');
  }
  expect(networks).toEqual(['1 polygon', '2 eip155:137']);
});

test('may refuse, and nothing is served or kept', async () => {
  const payer = await shop.payer(100n);
  says.verify = { isValid: false, invalidReason: 'invalid_exact_evm_payload_signature' };
  expect(termsOf(await pay(client, payer)).error).toBe('invalid_exact_evm_payload_signature');
  says.verify = { isValid: false, invalidReason: 'moon_phase' };
  expect(termsOf(await pay(client, payer)).error).toBe('facilitator_refused');
  says.verify = 'nonsense';
  expect(await pay(client, payer)).toMatchObject({ status: 503, body: { code: 'unavailable' } });
  const { rows } = await service.database.db.query('SELECT FROM payment_claims WHERE payer = lower($1)', [
    payer.address,
  ]);
  expect(rows).toHaveLength(0);
});

test('that does not say how it ended leaves it pending, never to be paid twice, until the chain tells', async () => {
  const payer = await shop.payer(100n);
  const terms = await askPrice(client);
  const signed = await sign(payer, terms);
  const headers = { ...paymentHeader(signed, terms), prefer: 'wait=0' };
  says.settle = () => undefined;
  const reply = await client.request('GET', quotePath, { headers });
  expect(reply).toMatchObject({ status: 202, body: { status: 'settlement_pending', transaction: '' } });
  const again = await client.request('GET', quotePath, { headers });
  expect(again).toMatchObject({ status: 202, body: { paymentId: reply.body.paymentId } });
  expect(asked.filter((path) => path === '/f/settle')).toHaveLength(1);
  // It had moved after all.
  const hash = await shop.submit(signed);
  const found = await until('it to be known', async () => {
    const { body } = await client.get(`/nano/payments/${reply.body.paymentId}`);
    return body.status === 'settled' ? body : undefined;
  });
  expect(found).toMatchObject({ transaction: hash, served: false });
  const served = await client.request('GET', quotePath, { headers });
  expect(served).toMatchObject({ status: 200, body: { fee: 0.75 } });
  expect(asked.filter((path) => path === '/f/settle')).toHaveLength(1);
});

test('that refuses what it has submitted is not believed, and the payer is served', async () => {
  const payer = await shop.payer(100n);
  const terms = await askPrice(client);
  const signed = await sign(payer, terms);
  const headers = { ...paymentHeader(signed, terms), prefer: 'wait=0' };
  says.settle = async () => {
    await shop.submit(signed);
    return { success: false, errorReason: 'unexpected_settle_error', transaction: '', network: 'eip155:137' };
  };
  expect(await client.request('GET', quotePath, { headers })).toMatchObject({
    status: 202,
    body: { status: 'settlement_pending' },
  });
  const served = await until('it to be served', async () => {
    const reply = await client.request('GET', quotePath, { headers });
    return reply.status === 202 ? undefined : reply;
  });
  expect(served).toMatchObject({ status: 200, body: { fee: 0.75 } });
});
