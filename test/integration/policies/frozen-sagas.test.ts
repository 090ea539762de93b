import { parseUnits } from 'viem';
import { privateKeyToAddress } from 'viem/accounts';
import { expect, test } from 'vitest';
import { Ended } from '../../../src/kernel/sagas/checkpoint.ts';
import { houseBalance } from '../../../src/ledger/balances.ts';
import { verifyLedger } from '../../../src/ledger/verify.ts';
import { changeStamp, createBudget, readBudget } from '../../support/budgets.ts';
import { createSpendingConsent, featuresAsking } from '../../support/consent.ts';
import { startService, useService } from '../../support/service.ts';
import { until } from '../../support/until.ts';

const { consent, budgets } = createSpendingConsent();
const env = { SANDBOX_CHARGE_GAS: 'true' };
const roles = { serve: false, work: true };
/** Nothing goes on by itself here: this process only takes requests. */
const service = useService({
  roles: { serve: true, work: false },
  features: featuresAsking(consent),
  settings: { orders: { waitSeconds: 0 } },
  env,
});
const { db } = service.database;

const stoppedByFreeze = 'The key that asked for it was frozen.';
const outside = privateKeyToAddress(`0x${'7'.repeat(64)}`);

const atomic = (text: string | number, decimals: number) => parseUnits(String(text), decimals);

/** An account with a key for its agent, and a budget of that key. */
async function newAgent() {
  const { key, handle } = await service.client.register();
  const agent = (await service.client.post('/account/keys', { name: 'agent' }, key)).body;
  const { rows } = await db.query<{ id: bigint }>('SELECT id FROM accounts WHERE handle = $1', [handle]);
  const [{ id } = { id: 0n }] = rows;
  // Payments of one owner that are made at once wait for one another at the stamp.
  await changeStamp(db, id);
  const budget = await createBudget(db, { id, keyId: agent.id }, { most: 9n * 10n ** 18n });
  budgets.set(id, budget);
  return { key, agent, budget };
}

const tables = ['withdrawals', 'bridges', 'swaps', 'orders'] as const;

test('a freeze stops what was not sent yet, and returns the money and the authority', async () => {
  const worker = await startService(service.database, { roles, env });
  const { key, agent, budget } = await newAgent();
  const balance = async () => (await service.client.get('/circle/balance', key)).body.USDC;
  expect((await service.client.post('/sandbox/fund', { amount: 1_000 }, key)).status).toBe(200);
  await worker.stop();
  const before = await balance();

  const requests = [
    ['/circle/withdraw', { amount: 20, address: outside }],
    ['/cross-chain/transfer', { from: 'MATIC', to: 'BASE', amount: '30' }],
    ['/swap/execute', { from: 'USDC', to: 'ETH', amount: '60' }],
    [
      '/shopping/buy',
      {
        website: 'demo-shop.example',
        productTitle: 'Stoneware Mug, Sea',
        productBrand: 'Alder Pottery',
        amount: 24,
        paymentMethod: 'usdc',
        shippingAddress: 'Ada, 1 Main St, 94105 San Francisco, US',
      },
    ],
  ] as const;
  for (const [path, body] of requests) {
    const { status } = await service.client.post(path, body, agent.apiKey);
    expect([200, 202], path).toContain(status);
  }
  expect((await readBudget(db, budget)).spent).toBeGreaterThan(134_000_000n);
  for (const table of tables) {
    expect((await db.query(`SELECT key_id FROM ${table}`)).rows, table).toEqual([{ keyId: agent.id }]);
  }

  // They look again in an hour, unless the freeze wakes them.
  const later = "UPDATE graphile_worker._private_jobs SET run_at = now() + interval '1 hour' WHERE key = ANY ($1)";
  const open = (await Promise.all(tables.map((table) => db.query<{ id: string }>(`SELECT id FROM ${table}`))))
    .flatMap(({ rows }) => rows)
    .map(({ id }) => id);
  expect((await db.query(later, [open])).rowCount).toBe(tables.length);
  expect(await service.client.post(`/account/keys/${agent.id}/freeze`, {}, key)).toMatchObject({ status: 200 });
  const due = 'SELECT FROM graphile_worker._private_jobs WHERE run_at <= now() AND key = ANY ($1)';
  expect((await db.query(due, [open])).rowCount).toBe(tables.length);

  const second = await startService(service.database, { roles, env });
  for (const table of tables) {
    await until(`the end of what is in ${table}`, async () => {
      const { rows } = await db.query<{ status: string }>(`SELECT status FROM ${table}`);
      return rows.every(({ status }) => status === 'failed');
    });
    expect((await db.query(`SELECT error FROM ${table}`)).rows, table).toEqual([{ error: stoppedByFreeze }]);
  }
  await second.stop();
  expect(await balance()).toBe(before);
  expect((await readBudget(db, budget)).spent).toBe(0n);
  const asked = "SELECT saga, step, state FROM chain_steps WHERE saga IN ('withdrawal', 'bridge', 'swap')";
  expect((await db.query(asked)).rows).toEqual([]);
  expect((await verifyLedger(db)).problems).toEqual([]);
});

test('a freeze keeps the gas that was spent, and nothing else of what was under way', async () => {
  const [ada, bob] = [await newAgent(), await newAgent()];
  /** Where each is stopped, and what it has become there. */
  const places = { 'withdrawal.unwrapped': 'unwrapped', 'bridge.approved': 'burning', 'swap.prepared': 'swapping' };
  const checkpoint = (name: string) => {
    if (Object.keys(places).includes(name)) throw new Ended(name);
  };
  const first = await startService(service.database, { roles, env, checkpoint });
  for (const [key, currency] of [
    [ada.key, 'USDC'],
    [ada.key, 'MATIC'],
    [bob.key, 'MATIC'],
  ] as const)
    expect((await service.client.post('/sandbox/fund', { amount: 100, currency }, key)).status).toBe(200);
  const balances = async () => {
    const { USDC, other } = (await service.client.get('/circle/balance', ada.key)).body;
    return { USDC: atomic(USDC, 6), MATIC: atomic(other[0].amount, 18) };
  };
  const fees = async () => ({
    USDC: (await houseBalance(db, 'fees', 'USDC', 'MATIC')).atomic,
    MATIC: (await houseBalance(db, 'fees', 'MATIC', 'MATIC')).atomic,
  });
  const [had, earned] = [await balances(), await fees()];

  const withdrawal = { amount: '8', currency: 'MATIC', address: outside };
  const [unwrapped, bridged, swapped] = await Promise.all([
    service.client.post('/circle/withdraw', withdrawal, ada.agent.apiKey),
    service.client.post('/cross-chain/transfer', { from: 'MATIC', to: 'BASE', amount: '30' }, ada.agent.apiKey),
    service.client.post('/swap/execute', { from: 'USDC', to: 'ETH', amount: '60' }, ada.agent.apiKey),
  ]);
  for (const { status, body } of [unwrapped, bridged, swapped]) expect(status, JSON.stringify(body)).toBe(200);
  const ids = [unwrapped.body.txId, bridged.body.transferId, swapped.body.txId];
  const statuses = async () => {
    const found = await Promise.all(
      (['withdrawals', 'bridges', 'swaps'] as const).map((table) =>
        db.query<{ status: string; error: string | null }>(`SELECT status, error FROM ${table} WHERE id = ANY ($1)`, [
          ids,
        ]),
      ),
    );
    return found.flatMap(({ rows }) => rows);
  };
  await expect.poll(async () => (await statuses()).map(({ status }) => status)).toEqual(Object.values(places));
  await first.stop();

  expect((await service.client.post(`/account/keys/${ada.agent.id}/freeze`, {}, ada.key)).status).toBe(200);
  const second = await startService(service.database, { roles, env });
  const failed = { status: 'failed', error: stoppedByFreeze };
  await expect.poll(statuses).toEqual([failed, failed, failed]);
  const look = async (path: string) => (await service.client.get(path, ada.key)).body;
  const { gasKept, gasFee: bridgeGas } = await look(`/cross-chain/status/${ids[1]}`);
  const { gasFee, gasFeeIfFailed } = await look(`/swap/${ids[2]}`);
  const { gasKept: coinGas, fee } = await look(`/circle/withdrawals/${ids[0]}`);
  const { chains } = await look('/cross-chain/chains');
  expect(gasKept).toBe(chains.find(({ id }: { id: string }) => id === 'MATIC').gasFee.leaving);
  expect(atomic(gasKept, 6)).toBeLessThan(atomic(bridgeGas, 6));
  expect([atomic(gasKept, 6) > 0n, atomic(gasFee, 6) > 0n, gasFee]).toEqual([true, true, gasFeeIfFailed]);
  const kept = { USDC: atomic(gasKept, 6) + atomic(gasFee, 6), MATIC: atomic(String(coinGas), 18) };
  expect([kept.MATIC > 0n, kept.MATIC < atomic(String(fee), 18)]).toEqual([true, true]);
  const [has, earns] = [await balances(), await fees()];
  for (const asset of ['USDC', 'MATIC'] as const) {
    expect(had[asset] - has[asset], asset).toBe(kept[asset]);
    expect(earns[asset] - earned[asset], asset).toBe(kept[asset]);
  }
  // The budget of this test counts the units of every asset.
  expect((await readBudget(db, ada.budget)).spent).toBe(kept.USDC + kept.MATIC);

  // The address itself has refused nothing.
  const { body: his } = await service.client.post('/circle/withdraw', withdrawal, bob.agent.apiKey);
  await expect
    .poll(async () => (await service.client.get(`/circle/withdrawals/${his.txId}`, bob.key)).body)
    .toMatchObject({ status: 'complete', error: null });
  const differing = async () =>
    (await look('/reserves')).reserves.filter(({ difference }: { difference: string }) => difference !== '0');
  await expect.poll(differing).toEqual([]);
  await second.stop();
  expect((await verifyLedger(db)).problems).toEqual([]);
});
