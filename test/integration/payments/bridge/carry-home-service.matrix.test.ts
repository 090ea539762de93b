import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { connectLocalChains } from '../../../../sandbox/chains/local-chains.ts';
import type { ChainId } from '../../../../src/money/catalogue.ts';
import { verifyProof } from '../../../support/proofs.ts';
import { startReceiver } from '../../../support/receiver.ts';
import { useService } from '../../../support/service.ts';
import { until } from '../../../support/until.ts';

const receiver = await startReceiver();
const service = useService({
  env: { ALLOW_PRIVATE_HOSTS: receiver.host },
  settings: {
    bridge: {
      carryMinimum: new Map([
        ['ARB', 5_000_000n],
        ['BASE', 5_000_000n],
      ]),
    },
  },
});

async function newAccount() {
  const { key, handle } = await service.client.register();
  const { address } = (await service.client.get('/circle/deposit-address?chain=ARB', key)).body;
  return { key, handle, address: address as `0x${string}` };
}
type Account = Awaited<ReturnType<typeof newAccount>>;

async function deposit(chain: ChainId, { key, address }: Account, atomic: bigint): Promise<void> {
  const { faucet } = await connectLocalChains(service.database);
  const count = async () => (await service.client.get('/circle/deposits', key)).body.deposits.length as number;
  const before = await count();
  await faucet.mint({ id: randomUUID(), chain, asset: 'USDC', to: address, atomic });
  await until('the deposit', async () => (await count()) > before);
}

async function walletOn(chain: ChainId, { key }: Account) {
  const { wallets } = (await service.client.get('/cross-chain/wallets', key)).body;
  return wallets.find(({ blockchain }: { blockchain: string }) => blockchain === chain);
}

const eventOf = (type: string) =>
  until(type, async () => receiver.arrived.map(({ body }) => JSON.parse(body)).find((event) => event.type === type));

test('what is too little waits where it is seen, and comes home with more', { tags: ['matrix'] }, async () => {
  const ada = await newAccount();
  const { get, post } = service.client;
  const events = ['deposit.received', 'bridge.completed'];
  await post('/webhooks', { url: receiver.url, events }, ada.key);
  await deposit('ARB', ada, 4_000_000n);
  const [listed] = (await get('/circle/deposits', ada.key)).body.deposits;
  expect(listed).toMatchObject({ chain: 'ARB', amount: '4', status: 'waiting', carriedBy: null });
  expect(await walletOn('ARB', ada)).toMatchObject({ balance: '0', waiting: '4', arrivals: 'carried_home' });
  expect((await get('/circle/balance', ada.key)).body).toMatchObject({ USDC: '0' });
  const address = `0x${'ab'.repeat(20)}`;
  for (const [path, body] of [
    ['/circle/withdraw', { amount: 1, chain: 'ARB', address }],
    ['/cross-chain/transfer', { from: 'ARB', to: 'MATIC', amount: '1' }],
  ] as const) {
    expect(await post(path, body, ada.key)).toMatchObject({ status: 400, body: { code: 'insufficient_balance' } });
  }
  expect((await eventOf('deposit.received')).data).toMatchObject({ chain: 'ARB', amount: 4, carriedTo: 'MATIC' });

  const proof = (await get('/account/proof', ada.key)).body;
  expect(verifyProof(proof)).toContain('4 USDC on ARB');
  const held = await until('it to be counted', async () => {
    const rows = (await get('/reserves')).body.reserves as Record<string, string>[];
    return rows.find(({ chain, asset, owed }) => chain === 'ARB' && asset === 'USDC' && owed === '4');
  });
  expect(held).toMatchObject({ onChain: '4', inFlight: '0', difference: '0' });

  await deposit('ARB', ada, 1_000_000n);
  await until('all of it to come home', async () => (await get('/circle/balance', ada.key)).body.USDC === '5');
  const carried = (await get('/circle/deposits', ada.key)).body.deposits as { status: string; carriedBy: string }[];
  expect(carried.map(({ status }) => status)).toEqual(['carried_home', 'carried_home']);
  expect(new Set(carried.map(({ carriedBy }) => carriedBy)).size).toBe(1);
  const [way, ...others] = (await get('/cross-chain/history', ada.key)).body.transfers;
  expect(way).toMatchObject({ origin: 'deposit', amount: '5', received: '5', status: 'completed' });
  expect(others).toEqual([]);
  expect((await eventOf('bridge.completed')).data).toMatchObject({ bridgeId: way.transferId, amount: 5, received: 5 });
});

test('whoever makes a wallet while something waits keeps it there, but not while the account is frozen', async () => {
  const { db } = service.database;
  const grace = await newAccount();
  const make = () => service.client.post('/cross-chain/wallet', { blockchain: 'BASE' }, grace.key);
  await deposit('BASE', grace, 2_000_000n);
  await db.query('UPDATE accounts SET frozen_at = now() WHERE handle = $1', [grace.handle]);
  expect(await make()).toMatchObject({ status: 403, body: { code: 'account_frozen' } });
  expect(await walletOn('BASE', grace)).toMatchObject({ balance: '0', waiting: '2', arrivals: 'carried_home' });
  await db.query('UPDATE accounts SET frozen_at = NULL WHERE handle = $1', [grace.handle]);
  expect(await make()).toMatchObject({ status: 200, body: { blockchain: 'BASE', address: grace.address } });
  expect(await walletOn('BASE', grace)).toMatchObject({ balance: '2', waiting: '0', arrivals: 'stay' });
  const [listed] = (await service.client.get('/circle/deposits', grace.key)).body.deposits;
  expect(listed).toMatchObject({ status: 'credited', carriedBy: null });
});
