import { randomUUID } from 'node:crypto';
import type { Hex } from 'viem';
import { describe, expect, test } from 'vitest';
import { type NewWallet, ProviderError, type WalletProvider } from '../../../../src/custody/wallets/provider.ts';
import { openUserWallet, openWalletAt } from '../../../../src/custody/wallets/user-wallets.ts';
import { walletRoutes } from '../../../../src/custody/wallets/wallet-routes.ts';
import { type Caller, scopes } from '../../../../src/kernel/http/define-route.ts';
import { createOnce } from '../../../../src/ledger/idempotency.ts';
import { type ChainId, chainIds } from '../../../../src/money/catalogue.ts';
import { freshEmail } from '../../../support/client.ts';
import { createOwners } from '../../../support/ledger.ts';
import { useService } from '../../../support/service.ts';

const service = useService();
const { db } = service.database;

async function register() {
  const registration = { email: freshEmail(), name: 'Ada', password: 'correct horse' };
  const { status, body } = await service.client.post('/agent/register', registration);
  expect(status).toBe(201);
  return body as { apiKey: string; circleWalletId: string; depositAddress: Hex };
}

describe('POST /circle/wallet', () => {
  test('answers the wallet that registration has made, however often', async () => {
    const ada = await register();
    const answers = await Promise.all(
      Array.from({ length: 5 }, () => service.client.post('/circle/wallet', undefined, ada.apiKey)),
    );
    for (const { status, body } of answers) {
      expect([status, body]).toEqual([200, { walletId: ada.circleWalletId, existing: true }]);
    }
    expect((await service.client.post('/circle/wallet')).status).toBe(401);
  });

  test('makes one when there is none, and says so again to the same request', async () => {
    const ada = await register();
    await db.query('DELETE FROM wallets WHERE id = $1', [ada.circleWalletId]);
    const ask = () =>
      service.client.request('POST', '/circle/wallet', {
        key: ada.apiKey,
        headers: { 'idempotency-key': 'the same' },
      });
    const made = await ask();
    expect(made).toMatchObject({ status: 200, body: { walletId: expect.stringMatching(/^wal_/), existing: false } });
    expect((await ask()).body).toEqual(made.body);
    expect((await service.client.post('/circle/wallet', undefined, ada.apiKey)).body).toEqual({
      walletId: made.body.walletId,
      existing: true,
    });
  });
});

describe('GET /circle/deposit-address', () => {
  const ask = (key: string, query = '') => service.client.get(`/circle/deposit-address${query}`, key);

  test('is the address of registration, on Polygon when no chain is named', async () => {
    const ada = await register();
    const expected = {
      chain: 'MATIC',
      address: ada.depositAddress,
      currencies: ['USDC', 'EURC', 'DAI', 'ETH', 'MATIC'],
      arrivals: 'stay',
      note: 'Send on Polygon only. Deposits can be spent immediately. ETH is accepted as WETH and MATIC as WMATIC; native coins are not credited.',
    };
    expect(await ask(ada.apiKey)).toMatchObject({ status: 200, body: expected });
    expect((await ask(ada.apiKey, '?chain=MATIC')).body).toEqual(expected);
  });

  test('tells on each chain what becomes of what arrives there', async () => {
    const ada = await register();
    const { body: before } = await ask(ada.apiKey, '?chain=BASE');
    expect(before).toMatchObject({ arrivals: 'carried_home', note: expect.stringContaining('bridged to Polygon') });
    expect(before.note).toContain('once the amount is worth the gas');
    await service.client.post('/cross-chain/wallet', { blockchain: 'BASE' }, ada.apiKey);
    const { body: after } = await ask(ada.apiKey, '?chain=BASE');
    expect(after).toMatchObject({ arrivals: 'stay', note: expect.stringContaining('stay in your balance on Base') });
    expect(after.address).toBe(before.address);
  });

  test('exists on all six chains, and stays what it is', async () => {
    const ada = await register();
    for (const chain of chainIds) {
      const [first, ...others] = await Promise.all(Array.from({ length: 5 }, () => ask(ada.apiKey, `?chain=${chain}`)));
      expect(first).toMatchObject({ status: 200, body: { chain, address: expect.stringMatching(/^0x/) } });
      expect(first?.body.currencies).toContain('USDC');
      for (const other of others) expect(other.body).toEqual(first?.body);
    }
    const { rows } = await db.query<{ chain: string }>(
      'SELECT w.chain FROM wallets w JOIN wallets home USING (account_id) WHERE home.id = $1 ORDER BY w.chain',
      [ada.circleWalletId],
    );
    expect(rows.map(({ chain }) => chain)).toEqual(chainIds.toSorted());
  });

  test('does not exist on a chain that nobody knows', async () => {
    const ada = await register();
    for (const query of ['?chain=SOL', '?chain=matic', '?chain=', '?chain=MATIC&chain=ETH', '?network=ETH']) {
      const { status, body } = await ask(ada.apiKey, query);
      expect([query, status, body.code]).toEqual([query, 400, 'invalid_request']);
    }
  });
});

test('GET /circle/deposits lists what has arrived, newest first, page by page', async () => {
  const [ada, grace] = [await register(), await register()];
  for (const amount of [1, 2.5, 0.000001]) {
    expect((await service.client.post('/sandbox/fund', { amount, currency: 'USDC' }, ada.apiKey)).status).toBe(200);
  }
  const list = async (query = '') => (await service.client.get(`/circle/deposits${query}`, ada.apiKey)).body;
  const { deposits, nextCursor } = await list();
  expect(nextCursor).toBeNull();
  expect(deposits.map(({ amount }: { amount: string }) => amount)).toEqual(['0.000001', '2.5', '1']);
  expect(deposits[0]).toEqual({
    depositId: expect.stringMatching(/^dep_/),
    chain: 'MATIC',
    currency: 'USDC',
    amount: '0.000001',
    txHash: expect.stringMatching(/^0x[0-9a-f]{64}$/),
    from: expect.stringMatching(/^0x[0-9a-fA-F]{40}$/),
    transferId: expect.stringMatching(/^trf_/),
    status: 'credited',
    carriedBy: null,
    createdAt: expect.any(String),
  });
  const first = await list('?limit=2');
  const second = await list(`?limit=2&cursor=${first.nextCursor}`);
  expect([...first.deposits, ...second.deposits]).toEqual(deposits);
  expect(second.nextCursor).toBeNull();
  expect((await service.client.get('/circle/deposits', grace.apiKey)).body).toEqual({ deposits: [], nextCursor: null });
  expect((await list('?limit=0')).code).toBe('invalid_request');
});

/** A provider that numbers its wallets, and spells addresses in lower case as some do. */
function createFakeProvider(fail?: () => ProviderError): WalletProvider & { readonly calls: string[] } {
  const calls: string[] = [];
  const extended = new Map<string, Promise<NewWallet>>();
  const create = async (): Promise<NewWallet> => ({
    ref: randomUUID(),
    address: `0x${randomUUID().replaceAll('-', '')}abcdef01`,
  });
  return {
    calls,
    name: 'fake',
    async createWallet({ chain }) {
      calls.push(`create ${chain}`);
      if (fail !== undefined) throw fail();
      return create();
    },
    async extendWallet(wallet, chain) {
      calls.push(`extend ${chain}`);
      if (fail !== undefined) throw fail();
      const key = `${wallet.ref} ${chain}`;
      const made = extended.get(key) ?? Promise.resolve({ ref: randomUUID(), address: wallet.address });
      extended.set(key, made);
      return made;
    },
    execute: () => Promise.reject(new Error('not here')),
    sendToken: () => Promise.reject(new Error('not here')),
    signTypedData: () => Promise.reject(new Error('not here')),
    findTaken: () => Promise.reject(new Error('not here')),
    lookUp: () => Promise.reject(new Error('not here')),
    sendAgain: async () => {},
  };
}

async function newAccount(): Promise<bigint> {
  const [owner] = await createOwners(db, 1);
  if (owner === undefined) throw new Error('nobody was made');
  return owner.id;
}

describe('wallets at a provider', () => {
  test('requests that come at once agree on one wallet per chain', async () => {
    const provider = createFakeProvider();
    const accountId = await newAccount();
    const open = (chain: ChainId) => openUserWallet({ db, provider }, accountId, chain);
    const home = await Promise.all(Array.from({ length: 8 }, () => open('MATIC')));
    expect(new Set(home.map(({ wallet }) => wallet.id)).size).toBe(1);
    expect(home.filter(({ existing }) => !existing)).toHaveLength(1);
    const there = await Promise.all(Array.from({ length: 8 }, () => open('ETH')));
    expect(new Set(there.map(({ wallet }) => wallet.id)).size).toBe(1);
    expect(there[0]?.wallet.address).toBe(home[0]?.wallet.address);
  });

  test('the first wallet may be asked for on another chain, and is then one key for all', async () => {
    const provider = createFakeProvider();
    const accountId = await newAccount();
    const { wallet } = await openUserWallet({ db, provider }, accountId, 'BASE');
    expect(provider.calls).toEqual(['create MATIC', 'extend BASE']);
    const home = await openUserWallet({ db, provider }, accountId, 'MATIC');
    expect(home.wallet.address).toBe(wallet.address);
  });

  test('an address is found on a chain where nobody has looked yet, also when it is retired', async () => {
    const provider = createFakeProvider();
    const accountId = await newAccount();
    const { wallet } = await openUserWallet({ db, provider }, accountId, 'MATIC');
    await db.query('UPDATE wallets SET retired_at = now() WHERE id = $1', [wallet.id]);
    const { wallet: newer } = await openUserWallet({ db, provider }, accountId, 'MATIC');
    expect(newer.address).not.toBe(wallet.address);
    const old = await openWalletAt({ db, provider }, wallet.address, 'OP');
    expect(old).toMatchObject({ accountId, chain: 'OP', address: wallet.address, retired: true });
    const { wallet: shown } = await openUserWallet({ db, provider }, accountId, 'OP');
    expect(shown.address).toBe(newer.address);
    expect(await openWalletAt({ db, provider }, `0x${'12'.repeat(20)}`, 'OP')).toBeUndefined();
  });

  test('one that is away is answered with 503 and Retry-After, and nothing is written', async () => {
    const provider = createFakeProvider(
      () => new ProviderError('Away.', { retryable: true, code: 'away', retryAfterMs: 7_200 }),
    );
    const accountId = await newAccount();
    const routes = walletRoutes({ db, provider, networks: new Map(), once: createOnce(db) });
    const caller: Caller = { accountId, keyId: 'key_1', handle: 'PA-7K2M9QXA', tier: 'free', scopes, bucket: 'x' };
    const run = (id: string, query: unknown) => routes.find(({ spec }) => spec.id === id)?.handle({ caller, query });
    await expect(run('createWallet', {})).rejects.toMatchObject({
      status: 503,
      extras: { headers: { 'Retry-After': '8' } },
    });
    expect((await db.query('SELECT FROM wallets WHERE account_id = $1', [accountId])).rows).toHaveLength(0);
    await expect(run('getDepositAddress', { chain: 'AVAX' })).rejects.toMatchObject({
      status: 400,
      code: 'chain_not_available',
    });
  });
});
