import { afterEach, beforeAll, expect, test, vi } from 'vitest';
import { main } from '../../../../src/app/cli.ts';
import { features } from '../../../../src/app/features.ts';
import { sagasOf } from '../../../../src/app/listed-feature.ts';
import { reconcile } from '../../../../src/custody/reserves/reconcile.ts';
import { type HeldDeposit, listHeld } from '../../../../src/payments/deposits/held-deposit.ts';
import type { Client } from '../../../support/client.ts';
import { openShopfront, pay, receiptsOf, type Shopfront } from '../../../support/nano.ts';
import { useService } from '../../../support/service.ts';
import { until } from '../../../support/until.ts';

// One node, which is believed nothing: whatever arrives waits for the operator.
const service = useService({ env: { DEPOSIT_ONE_NODE_LIMIT: '0' }, settings: { nano: { settleSeconds: 1 } } });
let shop: Shopfront;
let client: Client;

beforeAll(async () => {
  client = service.client;
  shop = await openShopfront(service.database);
});

afterEach(() => {
  vi.unstubAllEnvs();
  vi.restoreAllMocks();
});

/** What a command of the operator says, beside the running service. */
async function said(...args: string[]): Promise<string> {
  vi.stubEnv('DATABASE_URL', service.database.url);
  const written = vi.spyOn(process.stdout, 'write').mockReturnValue(true);
  await main(['node', 'paywright', ...args], process.ppid, features);
  const lines = written.mock.calls.map(([text]) => String(text)).join('');
  written.mockRestore();
  return lines;
}

const nextHeld = (isMeant: (held: HeldDeposit) => boolean) =>
  until('it to be held', async () => (await listHeld(service.database.db)).find(isMeant));

async function expectSound(): Promise<void> {
  await until('the reserves to fit', async () => {
    const { reserves } = (await client.get('/reserves')).body;
    return reserves.every(({ difference }: { difference: string }) => difference === '0');
  });
  const { db } = service.database;
  expect(await reconcile({ db, networks: shop.networks, sagas: sagasOf(features) })).toEqual([]);
}

test('a deposit is pending until the operator releases it, and keeps its name', async () => {
  const { key } = await client.register();
  const { address } = (await client.get('/circle/deposit-address', key)).body;
  await shop.mint(address, 5_000_000n);
  const { id } = await nextHeld(({ arrival }) => arrival.recipient === address);
  const list = async () => (await client.get('/circle/deposits', key)).body.deposits;
  expect(await list()).toEqual([expect.objectContaining({ depositId: id, status: 'pending', transferId: null })]);
  await expectSound();
  expect(await said('deposits', 'list', '--held')).toContain(`${id}   held`);
  expect(await said('deposits', 'release', id)).toContain('is released');
  const [credited] = await until('it to be credited', async () => {
    const deposits = await list();
    return deposits[0]?.status === 'credited' && deposits;
  });
  expect(credited).toMatchObject({ depositId: id, amount: '5', transferId: expect.stringMatching(/^trf_/) });
  expect(await said('deposits', 'list')).toContain('No deposit is held or lost.');
  await expectSound();
});

test('a payment for a call that has arrived and is held is not written off, however long that takes', {
  tags: ['matrix'],
}, async () => {
  const { db } = service.database;
  const reply = await pay(client, await shop.payer(100n));
  expect(reply.status).toBe(200);
  const { paymentId } = receiptsOf(reply).second;
  const { id } = await nextHeld(({ arrival }) => arrival.proofs.length > 0);
  await until('the settlement to wait for it', async () => {
    const { rows } = await db.query("SELECT FROM settlements WHERE waits_for LIKE 'a second node%'");
    return rows.length > 0;
  });
  expect((await client.get(`/nano/payments/${paymentId}`)).body.status).toBe('settlement_pending');
  await said('deposits', 'release', id);
  await until('it to be settled', async () => {
    return (await client.get(`/nano/payments/${paymentId}`)).body.status === 'settled';
  });
  await until('the settlement to end', async () => {
    return (await db.query('SELECT FROM settlements WHERE finished_at IS NULL')).rows.length === 0;
  });
  await expectSound();
});
