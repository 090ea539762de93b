import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { beforeAll, describe, expect, test } from 'vitest';
import { connectLocalChains } from '../../../../sandbox/chains/local-chains.ts';
import { features } from '../../../../src/app/features.ts';
import { sagasOf } from '../../../../src/app/listed-feature.ts';
import { createNetworks } from '../../../../src/chains/network.ts';
import { reconcile } from '../../../../src/custody/reserves/reconcile.ts';
import { reportReserves } from '../../../../src/custody/reserves/report.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { verifyLedger } from '../../../../src/ledger/verify.ts';
import { type ChainId, chainIds, chains } from '../../../../src/money/catalogue.ts';
import { oneOfMany } from '../../../support/matrix.ts';
import { useService } from '../../../support/service.ts';
import { until } from '../../../support/until.ts';

const service = useService();
type Pair = readonly [from: ChainId, to: ChainId];
const everyPair = chainIds.flatMap((from) => chainIds.filter((to) => to !== from).map((to): Pair => [from, to]));
/** From each chain to the one after it in the list. */
const ring = chainIds.map((from, index): Pair => [from, chainIds[(index + 1) % chainIds.length] ?? from]);

let ada: { key: string; address: `0x${string}` };
let grace: { key: string };

beforeAll(async () => {
  const { client } = service;
  const { key } = await client.register();
  const { body } = await client.get('/account', key);
  ada = { key, address: body.depositAddress };
  grace = await client.register();
});

const get = (path: string, key = ada.key) => service.client.get(path, key);
const post = (path: string, body: object, { key = ada.key, headers = {} }: { key?: string; headers?: object } = {}) =>
  service.client.request('POST', path, { key, body, headers: headers as Record<string, string> });

/** Sends tokens to Ada's address on a chain, as somebody outside does. */
async function deposit(chain: ChainId, asset: 'USDC' | 'EURC', atomic: bigint, to = ada.address): Promise<void> {
  const { faucet } = await connectLocalChains(service.database);
  await faucet.mint({ id: randomUUID(), chain, asset, to, atomic });
}

interface ListedWallet {
  readonly blockchain: ChainId;
  readonly balance: string;
  readonly eurcBalance: string | null;
  readonly arrivals: string;
  readonly waiting: string;
}

async function walletOn(chain: ChainId, key = ada.key): Promise<ListedWallet | undefined> {
  const { body } = await get('/cross-chain/wallets', key);
  return (body.wallets as ListedWallet[]).find(({ blockchain }) => blockchain === chain);
}

/** Thirty of them at once take half a minute where nothing else is going on. */
async function areCompleted(transferIds: readonly string[], key = ada.key) {
  await until(
    `${transferIds.length} bridges to be finished`,
    async () => {
      const { rows } = await service.database.db.query(
        'SELECT FROM bridges WHERE id = ANY ($1) AND finished_at IS NOT NULL',
        [transferIds],
      );
      return rows.length === transferIds.length;
    },
    240_000,
  );
  const answers = await Promise.all(transferIds.map((id) => get(`/cross-chain/status/${id}`, key)));
  for (const { body } of answers) expect(body).toMatchObject({ status: 'completed', error: null });
  return answers.map(({ body }) => body);
}

const isCompleted = async (transferId: string, key = ada.key) => (await areCompleted([transferId], key))[0];

/** What we hold is what we owe, on every chain, with nothing in flight; and every book agrees with every other. */
async function checkMoney(): Promise<void> {
  const { db } = service.database;
  const networks = createNetworks((await connectLocalChains(service.database)).settings);
  // Not by GET /reserves, whose answer may be some seconds old.
  const rows = await until('nothing to be in flight', async () => {
    const { reserves } = await reportReserves({
      db,
      networks,
      logger: createLogger('silent'),
      chainTimeoutMs: 20_000,
    });
    return reserves.every(({ inFlight }) => inFlight === '0') ? reserves : undefined;
  });
  expect(rows.map(({ difference }) => difference)).toEqual(rows.map(() => '0'));
  const { reserves } = (await get('/reserves')).body as { reserves: readonly { difference: string }[] };
  expect(reserves.map(({ difference }) => difference)).toEqual(reserves.map(() => '0'));
  expect((await verifyLedger(db)).problems).toEqual([]);
  expect(await reconcile({ db, networks, sagas: sagasOf(features) })).toEqual([]);
}

test('the chains are told to anybody, with their names, domains and explorers', async () => {
  const { status, body } = await service.client.get('/cross-chain/chains');
  expect(status).toBe(200);
  expect(body.chains).toEqual(
    chainIds.map((id) => ({
      id,
      name: chains[id].name,
      domain: chains[id].domain,
      explorer: chains[id].explorer,
      // In the sandbox gas is charged only where the operator wishes it.
      gasFee: { leaving: '0', arriving: '0' },
      minimumAmount: '0',
    })),
  );
});

describe('a wallet on a chain', () => {
  test('is the one on Polygon at first', async () => {
    expect((await get('/cross-chain/wallets')).body.wallets).toEqual([
      {
        blockchain: 'MATIC',
        name: 'Polygon',
        walletId: expect.stringMatching(/^wal_/),
        address: ada.address,
        balance: '0',
        eurcBalance: '0',
        arrivals: 'stay',
        waiting: '0',
      },
    ]);
  });

  test('is made once, and is not made by asking for an address', async () => {
    expect((await get('/circle/deposit-address?chain=OP')).body).toMatchObject({
      chain: 'OP',
      arrivals: 'carried_home',
    });
    expect(await walletOn('OP')).toBeUndefined();
    const first = await post('/cross-chain/wallet', { blockchain: 'OP' });
    expect(first).toMatchObject({ status: 200, body: { blockchain: 'OP', name: 'Optimism', address: ada.address } });
    expect((await post('/cross-chain/wallet', { blockchain: 'OP' })).body).toEqual(first.body);
    expect(await walletOn('OP')).toMatchObject({ arrivals: 'stay' });
    expect((await get('/circle/deposit-address?chain=OP')).body).toMatchObject({ arrivals: 'stay' });
    expect((await post('/cross-chain/wallet', { blockchain: 'SOL' })).body).toMatchObject({ code: 'invalid_request' });
  });
});

/** What is on each chain, in atomic units. */
async function balancesOnChains(): Promise<Map<ChainId, bigint>> {
  const { wallets } = (await get('/cross-chain/wallets')).body as { wallets: readonly ListedWallet[] };
  return new Map(wallets.map(({ blockchain, balance }) => [blockchain, BigInt(Math.round(Number(balance) * 1e6))]));
}

async function bridgeAtOnce(pairs: readonly Pair[]): Promise<void> {
  for (const chain of chainIds) await post('/cross-chain/wallet', { blockchain: chain });
  const expected = new Map([...(await balancesOnChains())].map(([chain, atomic]) => [chain, atomic + 10_000_000n]));
  for (const chain of chainIds) await deposit(chain, 'USDC', 10_000_000n);
  await until('the deposits', async () => isDeepStrictEqual(await balancesOnChains(), expected));
  const begun: string[] = [];
  for (const [index, [from, to]] of pairs.entries()) {
    const { status, body } = await post('/cross-chain/transfer', { from, to, amount: `1.0000${10 + index}` });
    expect(status).toBe(200);
    expect(body).toEqual({
      transferId: expect.stringMatching(/^brg_/),
      status: 'initiated',
      fromChain: from,
      toChain: to,
      amount: `1.0000${10 + index}`.replace(/0$/, ''),
      gasFee: '0',
      protocolFee: '0',
      estimatedTime: expect.stringContaining('minutes'),
      statusUrl: `${service.url}/api/cross-chain/status/${body.transferId}`,
    });
    begun.push(body.transferId);
  }
  const ended = await areCompleted(begun);
  for (const [index, [from, to]] of pairs.entries()) {
    const atomic = BigInt(1_000_010 + index);
    expected.set(from, (expected.get(from) ?? 0n) - atomic);
    expected.set(to, (expected.get(to) ?? 0n) + atomic);
    const { amount, received, txHashes, explorerUrls } = ended[index];
    expect(received).toBe(amount);
    expect(explorerUrls).toEqual({
      burn: `${chains[from].explorer}/tx/${txHashes.burn}`,
      mint: `${chains[to].explorer}/tx/${txHashes.mint}`,
    });
  }
  expect(await balancesOnChains()).toEqual(expected);
  expect((await get('/cross-chain/history?limit=5')).body.nextCursor).not.toBeNull();
  expect(new Set(ended.flatMap(({ txHashes }) => [txHashes.burn, txHashes.mint])).size).toBe(2 * pairs.length);
  await checkMoney();
}

for (const [what, pairs] of [
  ['from every chain and to every chain', ring],
  ['every pair of chains', everyPair],
] as const) {
  test(`${what}, at once, to the unit`, oneOfMany({ isRepresentative: pairs === ring }), () => bridgeAtOnce(pairs));
}

describe('a transfer', () => {
  beforeAll(async () => {
    await post('/sandbox/fund', { amount: 5, currency: 'USDC' });
  });

  test('tells where it is, when it was where, and is listed', async () => {
    const headers = { 'idempotency-key': 'once-only' };
    const body = { from: 'MATIC', to: 'BASE', amount: '0.5' };
    const first = await post('/cross-chain/transfer', body, { headers });
    const again = await post('/cross-chain/transfer', body, { headers });
    expect(again.body).toEqual(first.body);
    const other = await post('/cross-chain/transfer', { ...body, amount: '0.6' }, { headers });
    expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_mismatch' } });

    const { transferId } = first.body;
    const ended = await isCompleted(transferId);
    expect(ended).toMatchObject({ transferId, fromChain: 'MATIC', toChain: 'BASE', amount: '0.5', error: null });
    const times = ['pending', 'approving', 'burning', 'waiting_attestation', 'minting', 'completed'].map((state) =>
      Date.parse(ended.reachedAt[state]),
    );
    expect(times).toEqual(times.toSorted((one, two) => one - two));

    const history = (await get('/cross-chain/history?limit=5&status=completed')).body;
    expect(history.transfers[0]).toEqual(ended);
    expect((await get('/cross-chain/history?status=failed')).body.transfers).toEqual([]);
    expect((await get('/circle/transfers?limit=1')).body.transfers[0]).toMatchObject({
      direction: 'sent',
      type: 'bridge',
      amount: 0.5,
      description: 'To Base',
    });
  });

  test('is nobody else’s', async () => {
    const { transferId } = (await get('/cross-chain/history?limit=1')).body.transfers[0];
    for (const id of [transferId, 'brg_00000000000000000000000000', 'x']) {
      const { status, body } = await get(`/cross-chain/status/${id}`, grace.key);
      expect({ status, code: body.code }).toEqual({ status: 404, code: 'bridge_not_found' });
    }
    expect((await get('/cross-chain/history', grace.key)).body).toEqual({ transfers: [], nextCursor: null });
  });

  test('to where there is no wallet makes one, and what came there can be withdrawn there', {
    tags: ['thorough'],
  }, async () => {
    const { key } = await service.client.register();
    await service.client.request('POST', '/sandbox/fund', { key, body: { amount: 5, currency: 'USDC' } });
    const begun = await post('/cross-chain/transfer', { from: 'MATIC', to: 'AVAX', amount: '5' }, { key });
    await isCompleted(begun.body.transferId, key);
    expect(await walletOn('AVAX', key)).toMatchObject({ balance: '5', arrivals: 'stay' });
    const outside = `0x${'ab'.repeat(20)}`;
    const paid = await post('/circle/withdraw', { amount: 5, chain: 'AVAX', address: outside }, { key });
    expect(paid.status).toBe(200);
    await until('the withdrawal', async () => {
      const { body } = await get(`/circle/withdrawals/${paid.body.txId}`, key);
      return body.status === 'complete';
    });
    expect(await walletOn('AVAX', key)).toMatchObject({ balance: '0' });
  });
});

describe('bad input moves nothing', () => {
  const good = { from: 'MATIC', to: 'BASE', amount: '1' };
  test.each([
    ['the same chain', { ...good, to: 'MATIC' }, 'same_chain'],
    ['an unknown chain', { ...good, from: 'SOL' }, 'invalid_request'],
    ['a chain in lower case', { ...good, to: 'base' }, 'invalid_request'],
    ['seven decimals', { ...good, amount: '1.0000001' }, 'invalid_request'],
    ['words', { ...good, amount: 'abc' }, 'invalid_request'],
    ['less than nothing', { ...good, amount: '-1' }, 'invalid_request'],
    ['nothing', { ...good, amount: '0' }, 'invalid_request'],
    ['an exponent', { ...good, amount: '1e3' }, 'invalid_request'],
    ['a space', { ...good, amount: ' 1' }, 'invalid_request'],
    ['no amount', { ...good, amount: '' }, 'invalid_request'],
    ['a list', { ...good, amount: ['1'] }, 'invalid_request'],
    ['a field too many', { ...good, currency: 'EURC' }, 'invalid_request'],
    ['more than the balance', { ...good, amount: '1000' }, 'insufficient_balance'],
    ['more than one message carries', { ...good, amount: '10000000.000001' }, 'bridge_limit_exceeded'],
  ])('%s', async (_what, body, code) => {
    const [before] = (await get('/cross-chain/history?limit=1')).body.transfers;
    const balances = (await get('/cross-chain/wallets')).body;
    const reply = await post('/cross-chain/transfer', body);
    expect({ status: reply.status, code: reply.body.code }).toEqual({ status: 400, code });
    expect((await get('/cross-chain/wallets')).body).toEqual(balances);
    expect((await get('/cross-chain/history?limit=1')).body.transfers[0]).toEqual(before);
  });
});

describe('a deposit on another chain', () => {
  async function somebody() {
    const { key } = await service.client.register();
    const { address } = (await get('/circle/deposit-address?chain=ARB', key)).body;
    return { key, address: address as `0x${string}` };
  }

  test('is listed at once, carried home, and spendable there', async () => {
    const { key, address } = await somebody();
    await deposit('ARB', 'USDC', 7_000_001n, address);
    const listed = await until('the deposit', async () => (await get('/circle/deposits', key)).body.deposits[0]);
    expect(listed).toMatchObject({ chain: 'ARB', amount: '7.000001' });
    expect(['waiting', 'on_its_way', 'carried_home']).toContain(listed.status);
    await until('it to come home', async () => (await get('/circle/balance', key)).body.USDC === '7.000001');
    const [home] = (await get('/circle/deposits', key)).body.deposits;
    expect(home).toMatchObject({ status: 'carried_home', carriedBy: expect.stringMatching(/^brg_/) });
    expect((await get(`/cross-chain/status/${home.carriedBy}`, key)).body).toMatchObject({
      origin: 'deposit',
      fromChain: 'ARB',
      toChain: 'MATIC',
      received: '7.000001',
    });
    expect((await get('/circle/transfers', key)).body.transfers).toEqual([
      expect.objectContaining({
        direction: 'received',
        type: 'deposit_carried_home',
        amount: 7.000001,
        description: 'Deposited on Arbitrum, carried to Polygon',
      }),
    ]);
    // It came, and went: it never was a balance on that chain.
    expect(await walletOn('ARB', key)).toBeUndefined();
  });

  test('stays where its owner has a wallet, and EURC wherever it comes', async () => {
    const { key, address } = await somebody();
    // Enough that its fee pays for the gas there.
    await deposit('ETH', 'EURC', 60_000_000n, address);
    await until('the euros', async () => (await walletOn('ETH', key))?.eurcBalance === '60');
    expect(await walletOn('ETH', key)).toMatchObject({ arrivals: 'carried_home', balance: '0' });
    await post('/cross-chain/wallet', { blockchain: 'ETH' }, { key });
    await deposit('ETH', 'USDC', 2_000_000n, address);
    await until('the dollars', async () => (await walletOn('ETH', key))?.balance === '2');
    expect(await walletOn('ETH', key)).toMatchObject({ arrivals: 'stay', eurcBalance: '60', waiting: '0' });
    const paid = await post(
      '/circle/withdraw',
      { amount: 60, currency: 'EURC', chain: 'ETH', address: `0x${'cd'.repeat(20)}` },
      { key },
    );
    expect(paid.status).toBe(200);
    expect((await get('/circle/balance', key)).body).toEqual({
      USDC: '0',
      EURC: '0',
      other: [{ chain: 'ETH', asset: 'USDC', amount: '2' }],
    });
  });
});

test('at the end reserves differ by nothing, and nothing is in flight', () => checkMoney());
