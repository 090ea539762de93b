import { privateKeyToAddress } from 'viem/accounts';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { eras, type McpAgent } from '../../support/agents.ts';
import type { Client, TestAccount } from '../../support/client.ts';
import { startFaultyProxy } from '../../support/faulty-proxy.ts';
import { mug } from '../../support/mug.ts';
import { demand, startSeller, termsOf } from '../../support/seller.ts';
import { useService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const seller = await startSeller();
const service = useService({
  env: { ALLOW_PRIVATE_HOSTS: seller.host },
  settings: { orders: { waitSeconds: 25 } },
});
const proxy = await startFaultyProxy(() => service.url);

/** 100 for each tool by command: `LOST_RESPONSES=100 npm test -- test/integration/mcp/lost-results.test.ts`. */
const wanted = process.env['LOST_RESPONSES'];
const lostResultsOf = (tool: string) => Number(wanted ?? (quick.has(tool) ? 100 : 10));
const quick = new Set(['send_money', 'withdraw', 'bridge']);

let client: Client;
let owner: TestAccount;
let friend: TestAccount;
let agent: McpAgent;

beforeAll(() => {
  client = service.client;
});

beforeEach(async () => {
  owner = await client.register();
  friend = await client.register();
  expect((await client.post('/sandbox/fund', { amount: 500 }, owner.key)).status).toBe(200);
  proxy.choose = () => undefined;
  agent = await eras['2026-07-28']({ url: proxy.url, key: owner.key });
  return () => agent.close();
});

/** The service commits, and its answer never arrives. */
async function lose(tool: string, given: object, fault: 'lostAfter' | 'lostMeanwhile' = 'lostAfter'): Promise<void> {
  proxy.choose = ({ headers }) => (headers['mcp-method'] === 'tools/call' ? fault : undefined);
  await expect(agent.call(tool, given)).rejects.toThrow();
  proxy.choose = () => undefined;
}

const paidAs = (type: string) =>
  `SELECT count(*) FROM ledger.postings p JOIN accounts a ON a.id = p.sender_id WHERE a.handle = $1 AND p.type = '${type}'`;
const rowsOf = (table: string) =>
  `SELECT count(*) FROM ${table} t JOIN accounts a ON a.id = t.account_id WHERE a.handle = $1`;

async function count(text: string): Promise<number> {
  const { rows } = await service.database.db.query<{ count: bigint }>(text, [owner.handle]);
  return Number(rows[0]?.count);
}

async function expectRefused(tool: string, given: object, code = 'possible_duplicate'): Promise<string> {
  const again = await agent.call(tool, given);
  expect(again, again.content[0]?.text).toMatchObject({ isError: true, structuredContent: { code } });
  return again.structuredContent.duplicateOf?.id;
}

/** Plans again and again, as a model does: with a key of its own or without one, and every other answer is lost as well. */
async function planAgain(tool: string, given: object, code?: string): Promise<string> {
  let id = '';
  for (let call = 0; call < lostResultsOf(tool); call++) {
    const planned = { ...given, ...(call % 4 < 2 && { idempotencyKey: `plan-${call}` }) };
    if (call % 2 === 1) await lose(tool, planned);
    else id = await expectRefused(tool, planned, code);
  }
  return id;
}

const outside = privateKeyToAddress(`0x${'7'.repeat(64)}`);

const payments: Readonly<Record<string, readonly [given: () => object, paid: string]>> = {
  send_money: [() => ({ to: friend.handle, amount: 7, currency: 'USDC' }), paidAs('transfer')],
  withdraw: [() => ({ address: outside, amount: 7, currency: 'USDC' }), rowsOf('withdrawals')],
  bridge: [() => ({ from: 'MATIC', to: 'BASE', amount: 7 }), rowsOf('bridges')],
  swap: [() => ({ from: 'USDC', to: 'ETH', amount: 7 }), rowsOf('swaps')],
  buy_product: [() => mug, rowsOf('orders')],
};

test.each(Object.entries(payments))('%s: a model that lost the result pays once', async (tool, [make, paid]) => {
  const given = make();
  await lose(tool, given);
  expect(await count(paid)).toBe(1);
  const id = await planAgain(tool, given);
  expect(await count(paid)).toBe(1);
  // What the refusal names is the payment that was made.
  expect((await agent.call('get_operation', { id })).isError).toBeUndefined();

  const meant = { ...given, notDuplicateOf: id };
  await lose(tool, meant);
  expect(await expectRefused(tool, meant)).not.toBe(id);
  expect(await count(paid)).toBe(2);
});

test('pay_invoice: an invoice is paid once, and another one like it only when that is meant', async () => {
  const invoice = { toHandle: owner.handle, amount: 7, currency: 'USDC', description: 'Lunch' };
  const newInvoice = async () => ({ id: (await client.post('/invoices', invoice, friend.key)).body.id });
  const given = await newInvoice();
  await lose('pay_invoice', given);
  await planAgain('pay_invoice', given, 'invoice_already_paid');
  expect(await count(paidAs('transfer'))).toBe(1);

  const next = await newInvoice();
  const id = await planAgain('pay_invoice', next);
  expect(await count(paidAs('transfer'))).toBe(1);
  await lose('pay_invoice', { ...next, notDuplicateOf: id });
  await expectRefused('pay_invoice', { ...next, notDuplicateOf: id }, 'invoice_already_paid');
  expect(await count(paidAs('transfer'))).toBe(2);
});

test('pay_url: a call is not repeated while the seller has not answered it', async () => {
  const given = { url: seller.url, method: 'POST', body: 'one', maxAmount: 0.05 };
  const answers: (() => void)[] = [];
  seller.answer = ({ payment }, response) => {
    if (payment === undefined) demand(response, termsOf(seller));
    else answers.push(() => void response.end('sold'));
  };
  await lose('pay_url', given, 'lostMeanwhile');
  await until('the payment to reach the seller', async () => answers.length === 1);
  const id = await planAgain('pay_url', given);
  expect(await count(rowsOf('purchases'))).toBe(1);

  await lose('pay_url', { ...given, notDuplicateOf: id }, 'lostMeanwhile');
  await until('the second payment to reach the seller', async () => answers.length === 2);
  expect(await expectRefused('pay_url', { ...given, notDuplicateOf: id })).not.toBe(id);
  expect(await count(rowsOf('purchases'))).toBe(2);
  for (const answer of answers) answer();
});

test('pay_url: an answered call is repeated only under its own key', async () => {
  seller.answer = ({ payment }, response) =>
    payment === undefined ? demand(response, termsOf(seller)) : void response.end('sold');
  const given = { url: seller.url, maxAmount: 0.05, idempotencyKey: 'one' };
  await lose('pay_url', given);
  for (let call = 0; call < lostResultsOf('pay_url'); call++) {
    expect((await agent.call('pay_url', given)).structuredContent).toMatchObject({ body: 'sold' });
  }
  expect(await count(rowsOf('purchases'))).toBe(1);
  // A model that asks for the forecast again wants another one. So the tool does not call itself idempotent.
  await agent.call('pay_url', { ...given, idempotencyKey: 'two' });
  expect(await count(rowsOf('purchases'))).toBe(2);
});
