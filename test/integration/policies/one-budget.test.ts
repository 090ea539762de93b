import { privateKeyToAddress } from 'viem/accounts';
import { beforeAll, expect, test } from 'vitest';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { createBudget, readBudget } from '../../support/budgets.ts';
import type { TestAccount } from '../../support/client.ts';
import { createSpendingConsent, featuresAsking } from '../../support/consent.ts';
import { useService } from '../../support/service.ts';

const { consent, budgets, asked } = createSpendingConsent();
const service = useService({ features: featuresAsking(consent), settings: { orders: { waitSeconds: 25 } } });
const { db } = service.database;

let payer: TestAccount;
let friend: TestAccount;
let budget: bigint;
const most = 500_000_000n;

beforeAll(async () => {
  payer = await service.client.register();
  friend = await service.client.register();
  expect((await service.client.post('/sandbox/fund', { amount: 1_000 }, payer.key)).status).toBe(200);
  const { rows } = await db.query<{ accountId: bigint; keyId: string }>(
    'SELECT k.account_id, k.id AS key_id FROM api_keys k JOIN accounts a ON a.id = k.account_id WHERE a.handle = $1',
    [payer.handle],
  );
  const [{ accountId, keyId } = { accountId: 0n, keyId: '' }] = rows;
  budget = await createBudget(db, { id: accountId, keyId }, { most });
  budgets.set(accountId, budget);
});

const outside = privateKeyToAddress(`0x${'7'.repeat(64)}`);
const atomic = (amount: number | string) => BigInt(Math.round(Number(amount) * 1_000_000));
const spent = async () => (await readBudget(db, budget)).spent;

async function post(path: string, body?: object) {
  const answer = await service.client.post(path, body, payer.key);
  expect(answer, path).toMatchObject({ status: 200 });
  return answer.body;
}

const mug = (street: string) => ({
  website: 'demo-shop.example',
  productTitle: 'Stoneware Mug, Sea',
  productBrand: 'Alder Pottery',
  amount: 24,
  paymentMethod: 'usdc',
  shippingAddress: `Ada, ${street}, 94105 San Francisco, US`,
});

async function invoiceOf(amount: number): Promise<string> {
  const wanted = { toHandle: payer.handle, amount, currency: 'USDC', description: 'Lunch' };
  return (await service.client.post('/invoices', wanted, friend.key)).body.id;
}

const quote = '/nano/quote?amount=50&currency=USDC&action=transfer';
const ownUrl = () => `${service.url}/api${quote}`;

/** Each pays in its own way, and says what has left the balance. */
const ways: readonly (readonly [string, string, () => Promise<bigint>])[] = [
  [
    'transfer',
    'transfer',
    async () => atomic((await post('/agent/transfer', { to: friend.handle, amount: 10, currency: 'USDC' })).amount),
  ],
  ['invoice', 'invoice', async () => atomic((await post(`/invoices/${await invoiceOf(7)}/pay`)).amount)],
  [
    'withdrawal',
    'withdraw',
    async () => atomic((await post('/circle/withdraw', { amount: 20, address: outside })).gross),
  ],
  ['order', 'order', async () => atomic((await post('/shopping/buy', mug('1 Main St'))).total)],
  [
    'swap',
    'swap',
    async () => atomic((await post('/swap/execute', { from: 'USDC', to: 'ETH', amount: '60' })).amountIn),
  ],
  [
    'bridge',
    'bridge',
    async () => atomic((await post('/cross-chain/transfer', { from: 'MATIC', to: 'BASE', amount: '30' })).amount),
  ],
  [
    'nano',
    'call',
    async () => {
      expect((await service.client.get(quote, payer.key)).status).toBe(200);
      return 100n;
    },
  ],
  ['/nano/pay of our own', 'call', async () => atomic((await post('/nano/pay', { url: ownUrl(), maxAmount: 1 })).paid)],
  [
    '/nano/pay',
    'call',
    async () => {
      const { payment } = await post('/nano/pay', { url: 'http://demo-seller.example/forecast', maxAmount: 1 });
      return atomic(payment.amount) + atomic(payment.fee);
    },
  ],
];

test('one budget is spent in every way, to the unit', async () => {
  let sum = 0n;
  for (const [name, operation, pay] of ways) {
    const paid = await pay();
    expect(paid, name).toBeGreaterThan(0n);
    sum += paid;
    expect(await spent(), name).toBe(sum);
    expect(asked.at(-1), name).toMatchObject({ operation, amount: { atomic: paid } });
  }
});

test('what a shop refunds returns to it', async () => {
  const before = await spent();
  const { orders } = (await service.client.get('/shopping/orders', payer.key)).body;
  const { merchantKey } = (await service.client.get('/sandbox')).body.demoShop;
  const path = `/shopping/sales/${orders[0].orderId}/refund`;
  expect(await service.client.post(path, { amount: 10 }, merchantKey)).toMatchObject({ status: 200 });
  expect(await spent()).toBe(before - 10_000_000n);
  // The parts add up to what the shop was paid. The fee stays spent, because nobody refunds it.
  for (const amount of [3.33, 0.000001, 10.669999])
    expect(await service.client.post(path, { amount }, merchantKey)).toMatchObject({ status: 200 });
  expect(await spent()).toBe(before - 24_000_000n);
  expect(await service.client.post(path, { amount: 0.01 }, merchantKey)).not.toMatchObject({ status: 200 });
  expect(await spent()).toBe(before - 24_000_000n);
});

test('used up, it refuses every way, says what is left, and nothing moves', async () => {
  await db.query(
    'UPDATE ledger.budgets SET most = (SELECT spent FROM ledger.budget_counts WHERE budget = id) WHERE id = $1',
    [budget],
  );
  const balance = async () => (await service.client.get('/circle/balance', payer.key)).body.USDC;
  const before = await balance();
  const requests: readonly (readonly [string, object?])[] = [
    ['/agent/transfer', { to: friend.handle, amount: 10, currency: 'USDC' }],
    ['/circle/transfer', { to: friend.handle, amount: 10, currency: 'USDC' }],
    [`/invoices/${await invoiceOf(7)}/pay`],
    ['/circle/withdraw', { amount: 20, address: outside }],
    ['/shopping/buy', mug('2 Main St')],
    ['/swap/execute', { from: 'USDC', to: 'ETH', amount: '60' }],
    ['/cross-chain/transfer', { from: 'MATIC', to: 'BASE', amount: '30' }],
    ['/nano/pay', { url: ownUrl(), maxAmount: 1 }],
    ['/nano/pay', { url: 'http://demo-seller.example/forecast', maxAmount: 1 }],
  ];
  const refused = { status: 403, body: { code: 'budget_exceeded', remaining: '0', resetsAt: null } };
  for (const [path, body] of requests) {
    expect(await service.client.post(path, body, payer.key), path).toMatchObject(refused);
  }
  expect(await service.client.get(quote, payer.key)).toMatchObject(refused);
  expect(await balance()).toBe(before);
  expect((await verifyLedger(db)).problems).toEqual([]);
});
