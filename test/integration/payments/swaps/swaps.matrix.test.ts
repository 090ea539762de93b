import { beforeAll, describe, expect, test } from 'vitest';
import { connectLocalChains } from '../../../../sandbox/chains/local-chains.ts';
import { features } from '../../../../src/app/features.ts';
import { sagasOf } from '../../../../src/app/listed-feature.ts';
import { createNetworks } from '../../../../src/chains/network.ts';
import { reconcile } from '../../../../src/custody/reserves/reconcile.ts';
import { reportReserves } from '../../../../src/custody/reserves/report.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { verifyLedger } from '../../../../src/ledger/verify.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { amountFromText } from '../../../../src/money/parse-amount.ts';
import { type SwapToken, swapTokens } from '../../../../src/payments/swaps/tokens.ts';
import { isMatrix, oneOfMany } from '../../../support/matrix.ts';
import { useService } from '../../../support/service.ts';
import { until } from '../../../support/until.ts';

const service = useService();
type Pair = readonly [from: SwapToken, to: SwapToken];
const everyPair = swapTokens.flatMap((from) => swapTokens.filter((to) => to !== from).map((to): Pair => [from, to]));
/** From each token to the one after it in the list. */
const ring = swapTokens.map((from, index): Pair => [from, swapTokens[(index + 1) % swapTokens.length] ?? from]);

/** About 20 USDC of each. */
const some = { USDC: '20', ETH: '0.00666', MATIC: '40', DAI: '20' } as const;

let ada: { key: string };

beforeAll(async () => {
  ada = await service.client.register();
  for (const [currency, amount] of Object.entries({ USDC: 50_000, ETH: '1', MATIC: '2000', DAI: '1000' })) {
    const { status } = await post('/sandbox/fund', { currency, amount });
    expect(status).toBe(200);
  }
});

const get = (path: string, key = ada.key) => service.client.get(path, key);
const post = (path: string, body: object, { key = ada.key, headers = {} }: { key?: string; headers?: object } = {}) =>
  service.client.request('POST', path, { key, body, headers: headers as Record<string, string> });

const quote = (from: string, to: string, amount: string) => get(`/swap/quote?from=${from}&to=${to}&amount=${amount}`);
const balances = async (key = ada.key) =>
  (await get('/swap/balances', key)).body.balances as Record<SwapToken | 'EURC', string>;

function atomic(asset: SwapToken, text: string): bigint {
  const parsed = amountFromText(asset, text);
  if (parsed.ok) return parsed.amount.atomic;
  if (text === '0') return amountOf(asset, 0n).atomic;
  throw new Error(`${text} ${asset} is no amount`);
}

async function isFinished(txId: string, key = ada.key) {
  await until(
    `${txId} to be finished`,
    async () => {
      const { rows } = await service.database.db.query('SELECT FROM swaps WHERE id = $1 AND finished_at IS NOT NULL', [
        txId,
      ]);
      return rows.length > 0;
    },
    240_000,
  );
  const { body } = await get(`/swap/${txId}`, key);
  expect(body.finishedAt).not.toBeNull();
  return body;
}

const networksNow = async () => createNetworks((await connectLocalChains(service.database)).settings);

/** At this moment: what GET /reserves answers may be some seconds old. */
async function differences(): Promise<Record<string, string | null>> {
  const { db } = service.database;
  const networks = new Map([...(await networksNow())].filter(([id]) => id === 'MATIC'));
  const { reserves } = await reportReserves({ db, networks, logger: createLogger('silent'), chainTimeoutMs: 20_000 });
  return Object.fromEntries(reserves.map(({ asset, difference }) => [asset, difference]));
}

const nothingMissing = { USDC: '0', EURC: '0', ETH: '0', MATIC: '0', DAI: '0' };

/** What we hold is what we owe, in all five assets; and every book agrees with every other and with the chain. */
async function checkMoney(): Promise<void> {
  expect(await differences()).toEqual(nothingMissing);
  const { db } = service.database;
  expect((await verifyLedger(db)).problems).toEqual([]);
  expect(await reconcile({ db, networks: await networksNow(), sagas: sagasOf(features) })).toEqual([]);
  const { reserves } = (await get('/reserves')).body as { reserves: readonly { difference: string }[] };
  expect(reserves.map(({ difference }) => difference)).toEqual(reserves.map(() => '0'));
}

test('anybody may ask what can be swapped', async () => {
  expect(await service.client.get('/swap/tokens')).toMatchObject({
    status: 200,
    body: { tokens: ['USDC', 'ETH', 'MATIC', 'DAI'] },
  });
});

describe('a quote', () => {
  test('takes the fee from what is sold, and allows the market one percent', async () => {
    const { status, body } = await quote('USDC', 'ETH', '100');
    expect(status).toBe(200);
    expect(Object.keys(body).sort()).toEqual(
      ['airpayFee', 'amountIn', 'amountOut', 'amountOutMin', 'fromToken', 'gasFeeIfFailed', 'rate', 'toToken'].sort(),
    );
    expect(body).toMatchObject({ fromToken: 'USDC', toToken: 'ETH', amountIn: '100', airpayFee: '0.5' });
    const out = atomic('ETH', body.amountOut);
    expect(atomic('ETH', body.amountOutMin)).toBe((out * 99n) / 100n);
    expect(atomic('ETH', body.rate)).toBe(out / 100n);
    // 99.5 USDC at 3,000, less 0.05 % for the pool and hardly any impact.
    expect(Number(body.amountOut)).toBeGreaterThan((99.5 / 3_000) * 0.999);
    expect(Number(body.amountOut)).toBeLessThan(99.5 / 3_000);
  });

  for (const [from, to] of everyPair) {
    test(`is there from ${from} to ${to}`, oneOfMany({ isRepresentative: from === 'MATIC' }), async () => {
      const { status, body } = await quote(from, to, some[from]);
      expect(status).toBe(200);
      const [worth, got] = [Number(some[from]) * usd[from], Number(body.amountOut) * usd[to]];
      expect(got / worth).toBeGreaterThan(0.985);
      expect(got / worth).toBeLessThan(0.995);
    });
  }
});

const usd = { USDC: 1, ETH: 3_000, MATIC: 0.5, DAI: 1 } as const;

async function swapAtOnce(pairs: readonly Pair[]): Promise<void> {
  const before = await balances();
  const expected = new Map(swapTokens.map((token) => [token, atomic(token, before[token])]));
  const begun: string[] = [];
  for (const [from, to] of pairs) {
    const { status, body } = await post('/swap/execute', { from, to, amount: some[from] });
    expect(status).toBe(200);
    expect(body).toEqual({
      txId: expect.stringMatching(/^swp_/),
      status: 'queued',
      fromToken: from,
      toToken: to,
      amountIn: some[from],
      amountOutMin: expect.stringMatching(/^\d+\.\d+$/),
    });
    begun.push(body.txId);
  }
  await watchReserves(begun);
  const ended = await Promise.all(begun.map((txId) => isFinished(txId)));
  for (const swap of ended) {
    expect(swap).toMatchObject({ status: 'completed', error: null, unspent: '0' });
    expect(swap.txHash).toMatch(/^0x[0-9a-f]{64}$/);
    expect(swap.explorerUrl).toContain(swap.txHash);
    const [from, to] = [swap.fromToken as SwapToken, swap.toToken as SwapToken];
    const paid = atomic(to, swap.amountOut);
    expect(paid).toBeGreaterThanOrEqual(atomic(to, swap.amountOutMin));
    expect(Math.abs(Number(swap.slippage))).toBeLessThan(0.01);
    expected.set(from, (expected.get(from) ?? 0n) - atomic(from, swap.amountIn));
    expected.set(to, (expected.get(to) ?? 0n) + paid);
  }
  const after = await balances();
  for (const token of swapTokens) expect(atomic(token, after[token]), token).toBe(expected.get(token));
  await checkMoney();
}

/** Looks at the reserves until all of the swaps have ended: all the time, or whenever one of them has gone on. */
async function watchReserves(ids: readonly string[]): Promise<void> {
  let seen = '';
  await until(
    'the swaps to end',
    async () => {
      const { rows } = await service.database.db.query<{ state: string; open: boolean }>(
        `SELECT string_agg(s.status || coalesce(c.state, ''), ' ' ORDER BY s.id, c.step) AS state,
           bool_or(s.finished_at IS NULL) AS open
         FROM swaps s LEFT JOIN chain_steps c ON c.saga_id = s.id WHERE s.id = ANY ($1)`,
        [ids],
      );
      const [{ state, open } = { state: '', open: true }] = rows;
      if (isMatrix || state !== seen) expect(await differences()).toEqual(nothingMissing);
      seen = state;
      return !open;
    },
    240_000,
  );
}

for (const [what, pairs] of [
  ['every token sold and bought', ring],
  ['every pair', everyPair],
] as const) {
  const promise = 'each gets exactly what the chain has paid, and the reserves differ by nothing meanwhile';
  test(`${what}, at once: ${promise}`, oneOfMany({ isRepresentative: pairs === ring }), () => swapAtOnce(pairs));
}

test('a swap and back loses only fees and price impact', { tags: ['matrix'] }, async () => {
  const { key } = await service.client.register();
  await post('/sandbox/fund', { currency: 'USDC', amount: 1_000 }, { key });
  const there = await post('/swap/execute', { from: 'USDC', to: 'MATIC', amount: '1000' }, { key });
  const { amountOut } = await isFinished(there.body.txId, key);
  const back = await post('/swap/execute', { from: 'MATIC', to: 'USDC', amount: amountOut }, { key });
  await isFinished(back.body.txId, key);
  const { USDC, MATIC } = await balances(key);
  expect(MATIC).toBe('0');
  // Twice half a percent for us, twice a pool's fee of at most 0.3 %, and next to nothing for impact.
  expect(Number(USDC)).toBeGreaterThan(1_000 * 0.995 ** 2 * 0.997 ** 2 * 0.998);
  expect(Number(USDC)).toBeLessThan(1_000 * 0.995 ** 2);
});

test('thirty at once complete', { tags: ['matrix'] }, async () => {
  const count = 30;
  const { key } = await service.client.register();
  await post('/sandbox/fund', { currency: 'USDC', amount: 10 * count }, { key });
  const asked = await Promise.all(
    Array.from({ length: count }, (_, index) =>
      post('/swap/execute', { from: 'USDC', to: (['ETH', 'MATIC', 'DAI'] as const)[index % 3], amount: '10' }, { key }),
    ),
  );
  expect(asked.map(({ status }) => status)).toEqual(asked.map(() => 200));
  const ended = await Promise.all(asked.map(({ body }) => isFinished(body.txId, key)));
  expect(ended.map(({ status }) => status)).toEqual(ended.map(() => 'completed'));
  expect((await balances(key)).USDC).toBe('0');
  const one = await post('/swap/execute', { from: 'USDC', to: 'ETH', amount: '1' }, { key });
  expect(one).toMatchObject({ status: 400, body: { code: 'insufficient_balance' } });
  await checkMoney();

  const page = (2 * count) / 3;
  const { body: first } = await get(`/swap/history?limit=${page}`, key);
  const { body: second } = await get(`/swap/history?limit=${page}&cursor=${first.nextCursor}`, key);
  expect([...first.swaps, ...second.swaps].map(({ txId }) => txId)).toEqual(
    asked
      .map(({ body }) => body.txId)
      .sort()
      .reverse(),
  );
  expect(second.nextCursor).toBeNull();
  expect((await get('/swap/history?status=completed&limit=1', key)).body.swaps).toHaveLength(1);
  expect((await get('/swap/history?status=failed', key)).body.swaps).toEqual([]);
});

test('the same request under one key swaps once, also when the market would refuse it now', async () => {
  const headers = { 'Idempotency-Key': 'swap-once' };
  const body = { from: 'DAI', to: 'USDC', amount: '7' };
  const first = await post('/swap/execute', body, { headers });
  await isFinished(first.body.txId);
  const again = await post('/swap/execute', body, { headers });
  expect(again.body).toEqual(first.body);
  const other = await post('/swap/execute', { ...body, amount: '8' }, { headers });
  expect(other).toMatchObject({ status: 422, body: { code: 'idempotency_mismatch' } });
});

test('a stranger sees nothing of it', async () => {
  const grace = await service.client.register();
  const { body } = await post('/swap/execute', { from: 'USDC', to: 'DAI', amount: '1' });
  expect(await get(`/swap/${body.txId}`, grace.key)).toMatchObject({ status: 404, body: { code: 'swap_not_found' } });
  expect((await get('/swap/history', grace.key)).body).toEqual({ swaps: [], nextCursor: null });
  expect(await service.client.get('/swap/quote?from=USDC&to=ETH&amount=1')).toMatchObject({ status: 401 });
  await isFinished(body.txId);
});

test('what came and went is in the history, the statement and the events', async () => {
  const { key } = await service.client.register();
  const { body: hook } = await post(
    '/webhooks',
    { url: 'https://example.com/hook', events: ['swap.completed'] },
    { key },
  );
  expect(hook.id).toMatch(/^whk_/);
  await post('/sandbox/fund', { currency: 'USDC', amount: 10 }, { key });
  const { body } = await post('/swap/execute', { from: 'USDC', to: 'ETH', amount: '10' }, { key });
  const { amountOut } = await isFinished(body.txId, key);
  const { transfers } = (await get('/circle/transfers', key)).body;
  expect(transfers.slice(0, 2)).toMatchObject([
    { direction: 'received', type: 'swap_completed', currency: 'ETH', amount: amountOut },
    { direction: 'sent', type: 'swap', currency: 'USDC', amount: 10, fee: 0.05 },
  ]);
});

describe('is refused with a code that says why:', () => {
  const refused = [
    ['the same token twice', { from: 'USDC', to: 'USDC', amount: '1' }, 'same_token'],
    ['an unknown token', { from: 'USDC', to: 'DOGE', amount: '1' }, 'unknown_token'],
    ['EURC', { from: 'EURC', to: 'USDC', amount: '1' }, 'unknown_token'],
    ['lower case', { from: 'usdc', to: 'ETH', amount: '1' }, 'unknown_token'],
    ['0', { from: 'USDC', to: 'ETH', amount: '0' }, 'invalid_request'],
    ['a negative amount', { from: 'USDC', to: 'ETH', amount: '-1' }, 'invalid_request'],
    ['7 decimals of USDC', { from: 'USDC', to: 'ETH', amount: '1.0000001' }, 'invalid_request'],
    ['19 decimals of ETH', { from: 'ETH', to: 'USDC', amount: '1.0000000000000000001' }, 'invalid_request'],
    ['an exponent', { from: 'USDC', to: 'ETH', amount: '1e3' }, 'invalid_request'],
    ['a fee of nothing', { from: 'USDC', to: 'ETH', amount: '0.000001' }, 'swap_amount_too_small'],
    ['an output of nothing', { from: 'ETH', to: 'USDC', amount: '0.0000000000000002' }, 'swap_amount_too_small'],
    ['nothing on the way', { from: 'MATIC', to: 'DAI', amount: '0.0000000000000001' }, 'swap_amount_too_small'],
    ['more than the pools hold', { from: 'USDC', to: 'ETH', amount: '800000000' }, 'price_impact_too_high'],
  ] as const;

  test.each(refused)('%s', async (_, asked, code) => {
    const before = await balances();
    expect(await post('/swap/execute', asked)).toMatchObject({ status: 400, body: { code } });
    expect(await quote(asked.from, asked.to, asked.amount)).toMatchObject({ status: 400, body: { code } });
    expect(await balances()).toEqual(before);
  });

  test.each([
    ['a list instead of text', { from: 'USDC', to: 'ETH', amount: ['1'] }],
    ['no amount', { from: 'USDC', to: 'ETH' }],
    ['no token', { to: 'ETH', amount: '1' }],
    ['a field that nobody knows', { from: 'USDC', to: 'ETH', amount: '1', slippage: 5 }],
  ])('%s', async (_, asked) => {
    expect(await post('/swap/execute', asked)).toMatchObject({ status: 400, body: { code: 'invalid_request' } });
  });

  test('more than the balance', async () => {
    const { key } = await service.client.register();
    const asked = { from: 'MATIC', to: 'ETH', amount: '1' };
    expect(await post('/swap/execute', asked, { key })).toMatchObject({
      status: 400,
      body: { code: 'insufficient_balance' },
    });
    expect((await get('/swap/history', key)).body.swaps).toEqual([]);
  });
});
