import { beforeAll, describe, expect, test } from 'vitest';
import { Paywright, PaywrightError, verifyWebhook } from '#sdk';
import type { TestAccount } from '../../support/client.ts';
import { answerWith, startReceiver } from '../../support/receiver.ts';
import { demand, startSeller, termsOf } from '../../support/seller.ts';
import { useService } from '../../support/service.ts';

const seller = await startSeller();
const receiver = await startReceiver();
const service = useService({ env: { ALLOW_PRIVATE_HOSTS: `${seller.host},${receiver.host}` } });
let ada: TestAccount;
let grace: TestAccount;
let paywright: Paywright;

const connect = (apiKey: string) => new Paywright({ apiKey, baseUrl: `${service.url}/api` });
const balance = async () => Number((await paywright.transfers.getBalance()).USDC);

beforeAll(async () => {
  [ada, grace] = await Promise.all([service.client.register(), service.client.register()]);
  paywright = connect(ada.key);
  await paywright.sandbox.fundAccount({ amount: 100 });
});

describe('payments', () => {
  test('are made, listed and refused', async () => {
    const paid = await paywright.transfers.create({ to: grace.handle, amount: '1.50', currency: 'USDC' });
    expect(paid).toMatchObject({ status: 'complete', amount: 1.5 });
    for await (const item of paywright.transfers.list({ limit: 1 })) {
      expect(item).toMatchObject({ direction: 'sent', amount: 1.5 });
      break;
    }
    const error = await paywright.transfers
      .create({ to: grace.handle, amount: 5_000, currency: 'USDC' })
      .catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(PaywrightError);
    expect(error).toMatchObject({
      code: 'insufficient_balance',
      status: 400,
      requestId: expect.stringMatching(/^req_/),
    });
    const unread = { to: '', amount: 1, currency: 'USDC' } as const;
    await expect(paywright.transfers.create(unread)).rejects.toMatchObject({ errors: [{ path: 'to' }] });
  });

  test('with one idempotency key are made once, and with another one not again', async () => {
    const payment = { to: grace.handle, amount: 2, currency: 'USDC' } as const;
    const first = await paywright.transfers.create(payment, { idempotencyKey: 'two' });
    expect(await paywright.transfers.create(payment, { idempotencyKey: 'two' })).toEqual(first);
    const before = await balance();
    const error = await paywright.transfers.create(payment).catch((thrown: PaywrightError) => thrown);
    expect(error).toMatchObject({ code: 'possible_duplicate', status: 409 });
    expect(await balance()).toBe(before);
    const { duplicateOf } = error as unknown as { duplicateOf: { id: string } };
    expect(await paywright.transfers.create({ ...payment, notDuplicateOf: duplicateOf.id })).toMatchObject({
      amount: 2,
    });
    expect(await balance()).toBe(before - 2);
  });

  test('that the owner has to approve are a result', async () => {
    const { id, apiKey } = await paywright.accounts.createKey({ name: 'Agent' });
    await paywright.policies.set({ id, rules: [{ effect: 'ask' }] });
    const asked = await connect(apiKey).transfers.create({ to: grace.handle, amount: 3, currency: 'USDC' });
    if (asked.status !== 'approval_required') throw new Error(asked.status);
    expect(await connect(apiKey).approvals.get({ id: asked.approvalId })).toMatchObject({ status: 'pending' });
    await expect(paywright.policies.set({ id, rules: [] }, { ifMatch: '"old"' })).rejects.toMatchObject({
      status: 412,
    });
  });
});

test('a statement is an object, or text where that is asked for', async () => {
  const month = new Date().toISOString().slice(0, 7);
  expect(await paywright.transfers.getStatement({ month })).toMatchObject({ month, lines: expect.any(Array) });
  expect(await paywright.transfers.getStatement({ month, format: 'csv' })).toMatch(/^date,transferId/);
});

test('a streaming search gives its products', async () => {
  const events: string[] = [];
  for await (const { event, data } of paywright.shopping.streamProducts({ q: 'mug', website: 'demo-shop.example' })) {
    events.push(event);
    if (event === 'result') expect(data.title).toContain('Mug');
    else expect(data.count).toBe(events.length - 1);
  }
  expect(events.at(-1)).toBe('done');
  expect(events.length).toBeGreaterThan(1);
  const nowhere = paywright.shopping.streamProducts({ q: 'mug', website: 'not a shop' });
  await expect(nowhere[Symbol.asyncIterator]().next()).rejects.toMatchObject({ name: 'PaywrightError', status: 400 });
});

describe('a URL that costs something', () => {
  test('is paid, and never sees the API key', async () => {
    seller.answer = ({ payment }, response) => {
      if (payment === undefined) demand(response, termsOf(seller));
      else response.writeHead(200, { 'content-type': 'text/plain' }).end('Sunny ☀');
    };
    const before = await balance();
    const response = await paywright.fetch(seller.url, { maxAmount: 0.05, headers: { 'x-seller-key': 'mine' } });
    expect([response.status, await response.text(), response.paid]).toEqual([200, 'Sunny ☀', 0.01]);
    expect(response.payment).toMatchObject({ amount: 0.01, payTo: seller.payTo });
    expect(await balance()).toBeCloseTo(before - 0.01, 6);
    // Ours without a payment, that of the service without one, and that of the service with it.
    expect(seller.asked.map(({ headers }) => headers['x-seller-key'])).toEqual(['mine', 'mine', 'mine']);
    expect(JSON.stringify(seller.asked)).not.toContain(ada.key);
    await expect(paywright.fetch(seller.url, { maxAmount: 0.001 })).rejects.toMatchObject({
      code: 'price_above_maximum',
    });
  });

  test('may be one of the service itself', async () => {
    const response = await paywright.fetch(`${service.url}/api/nano/quote?amount=10&currency=USDC&action=transfer`, {
      maxAmount: 0.01,
    });
    expect(response.paid).toBe(0.0001);
    expect(await response.json()).toMatchObject({ amount: 10 });
  });
});

test('a webhook is verified as it arrives', async () => {
  receiver.answer = answerWith(200);
  const secret = 'a secret of sixteen or more characters';
  const { id } = await paywright.webhooks.create({ url: receiver.url, events: ['payment.sent'], secret });
  await paywright.webhooks.test({ id });
  await expect.poll(() => receiver.arrived.length).toBe(1);
  const [{ body, headers } = { body: '', headers: {} }] = receiver.arrived;
  expect(await verifyWebhook(body, headers, secret)).toMatchObject({ type: 'webhook.test' });
  await expect(verifyWebhook(body, headers, `${secret}!`)).rejects.toMatchObject({ code: 'webhook_not_verified' });
});
