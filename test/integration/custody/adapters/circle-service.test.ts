import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { connectLocalChains } from '../../../../sandbox/chains/local-chains.ts';
import { createNetworks, type Networks } from '../../../../src/chains/network.ts';
import { stranger } from '../../../contract/workbench.ts';
import { type CircleEmulator, startCircleEmulator } from '../../../emulators/circle/emulator.ts';
import { complaintsAbout } from '../../../emulators/circle/published.ts';
import { freshEmail } from '../../../support/client.ts';
import { useDatabase } from '../../../support/database.ts';
import { type Service, startService } from '../../../support/service.ts';

const database = useDatabase();
const { db } = database;
const waiting = { timeout: 40_000, interval: 100 };

let networks: Networks | undefined;
let emulator: CircleEmulator;
let service: Service;

beforeAll(async () => {
  emulator = await startCircleEmulator({
    networks: () => {
      if (networks === undefined) throw new Error('the chains are not running yet');
      return networks;
    },
  });
  service = await startService(database, {
    env: {
      WALLET_PROVIDER: 'circle',
      CIRCLE_API_KEY: emulator.apiKey,
      CIRCLE_ENTITY_SECRET: emulator.entitySecret,
      CIRCLE_BASE_URL: emulator.url,
    },
  });
  networks = createNetworks((await connectLocalChains({ db })).settings);
});
afterAll(async () => {
  await service?.stop();
  await emulator?.stop();
});

/** How Circle knows the wallets that nobody has yet. */
async function ready(): Promise<string[]> {
  const { rows } = await db.query<{ ref: string }>(
    'SELECT provider_ref AS ref FROM wallet_pool WHERE taken_at IS NULL',
  );
  return rows.map(({ ref }) => ref);
}

describe('the service with wallets at Circle', { timeout: 120_000 }, () => {
  it('carries a deposit in and a withdrawal out, to the last unit', async () => {
    const { client } = service;
    const { key } = await client.register();
    const { body: deposit } = await client.get('/circle/deposit-address', key);
    const held = [...emulator.wallets.wallets.values()].map(({ account }) => account.address);
    expect(held).toContain(deposit.address);

    expect((await client.post('/sandbox/fund', { amount: 100, currency: 'USDC' }, key)).status).toBe(200);
    const to = stranger();
    const withdrawal = await client.post('/circle/withdraw', { amount: 50, address: to, currency: 'USDC' }, key);
    expect(withdrawal.status).toBeLessThan(300);
    const read = async () => (await client.get(`/circle/withdrawals/${withdrawal.body.txId}`, key)).body;
    await expect.poll(async () => (await read()).status, waiting).toBe('complete');

    const { rows } = await db.query<{ providerRef: string }>(
      "SELECT provider_ref FROM chain_steps WHERE saga = 'withdrawal'",
    );
    const transaction = emulator.transactions.get(rows[0]?.providerRef ?? '');
    expect(transaction.txHash).toBe((await read()).txHash);
    expect(transaction.described).toMatchObject({ amounts: ['49.255'], destinationAddress: to });
    await expect
      .poll(
        async () =>
          (await client.get('/reserves')).body.reserves.map((line: { difference: string }) => line.difference),
        waiting,
      )
      .toSatisfy((differences: string[]) => differences.length > 0 && differences.every((text) => Number(text) === 0));
  });

  it('keeps wallets ready for who registers', async () => {
    await expect.poll(async () => (await ready()).length, { ...waiting, timeout: 90_000 }).toBeGreaterThan(10);
    const before = await ready();
    const { email } = await service.client.register();
    const { rows } = await db.query<{ providerRef: string }>(
      'SELECT w.provider_ref FROM wallets w JOIN accounts a ON a.id = w.account_id WHERE a.email = $1',
      [email],
    );
    expect(rows).toHaveLength(1);
    expect(before).toContain(rows[0]?.providerRef);
    expect(await ready()).not.toContain(rows[0]?.providerRef);
  });

  it('answers 503 and creates nothing when no wallet is ready and Circle is away', async () => {
    // First of all, because the pool is filled again by the clock.
    await emulator.shut();
    await db.query('UPDATE wallet_pool SET taken_at = now() WHERE taken_at IS NULL');
    const body = { email: freshEmail(), name: 'Ada', password: 'correct horse' };
    const refused = await service.client.post('/agent/register', body);
    expect(refused).toMatchObject({ status: 503, body: { code: 'unavailable' } });
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThanOrEqual(1);
    expect((await db.query('SELECT FROM accounts WHERE email = $1', [body.email])).rowCount).toBe(0);
    await emulator.open();
    expect((await service.client.post('/agent/register', body)).status).toBe(201);
  });

  it('takes Circle’s notifications', async () => {
    const bytes = Buffer.from(
      JSON.stringify({
        notificationId: randomUUID(),
        notificationType: 'transactions.outbound',
        notification: { id: randomUUID() },
      }),
    );
    const post = (headers: Record<string, string>) =>
      fetch(`${service.url}/api/circle/notifications`, { method: 'POST', headers, body: bytes });
    expect((await post({ ...emulator.signNotification(bytes) })).status).toBe(200);
    expect((await post({})).status).toBe(401);
    expect(complaintsAbout(emulator.exchanges)).toEqual([]);
  });
});
