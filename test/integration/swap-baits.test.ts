import { afterEach, beforeAll, expect, test } from 'vitest';
import type { Problem } from '../../src/http/problem.ts';
import { amountOf } from '../../src/money/amount.ts';
import { refuseAfterFailures } from '../../src/swaps/limit-failures.ts';
import { type Market, MarketUnreachable } from '../../src/swaps/market.ts';
import type { User } from '../support/deposits.ts';
import { useSwapWorld } from '../support/swaps.ts';
import { poolOf, useMarket } from '../support/uniswap.ts';

const world = useSwapWorld();
const { chains } = world.deposits;
const { db } = world.deposits.database;
const market = useMarket(chains);

const usdc = (whole: bigint) => amountOf('USDC', whole * 1_000_000n);
const priceMoved = 'The price moved by more than 1 % before it could be swapped.';

/** MATIC costs so many per mille more than it did. */
async function moveMatic(perMille: number): Promise<void> {
  await market.movePrice({ asset: 'MATIC', pool: poolOf('USDC', 'MATIC'), perMille });
  await market.movePrice({ asset: 'MATIC', pool: poolOf('ETH', 'MATIC'), perMille });
}

beforeAll(() => market.restMarketMaker());
afterEach(() => world.checkAtRest());

async function openMany(user: User, count: number): Promise<string[]> {
  const ids: string[] = [];
  for (let each = 0; each < count; each++) ids.push(await world.open(user, usdc(10n), 'MATIC'));
  return ids;
}

const stepsOf = async (id: string) => (await world.steps(id)).map(({ step }) => step);
/** All at once, and again: the first time one of them gets the treasury's tokens for all. */
async function advanceAll(ids: readonly string[]): Promise<void> {
  for (let round = 0; round < 2; round++) await Promise.all(ids.map((id) => world.advance(id)));
}

/** Those of them that something was sent for. */
async function sentOf(ids: readonly string[]): Promise<string[]> {
  const sent = await Promise.all(ids.map(async (id) => (await world.steps(id)).some(({ hash }) => hash !== null)));
  return ids.filter((_, index) => sent[index]);
}

const refusal = (user: User) =>
  refuseAfterFailures(db, user.id).then(
    () => undefined,
    (problem: Problem) => problem,
  );

test('a price that moved before anything was sent costs no gas, and all is back', async () => {
  const user = await world.newRich(usdc(100n));
  const ids = await openMany(user, 4);
  await moveMatic(15);
  for (const id of ids) {
    expect(await world.goOn(id, 'failed')).toMatchObject({ error: priceMoved, txHash: null });
    expect(await stepsOf(id)).toEqual([]);
  }
  expect(await world.balance(user, 'USDC')).toBe(usdc(100n).atomic);
  expect(await world.eventsOf(user)).toEqual(ids.map(() => 'swap.failed'));
  // These were nobody's loss.
  expect(await refusal(user)).toBeUndefined();
  await moveMatic(0);
});

test('three swaps are prepared for an account whose prices move, however many it has opened at once', async () => {
  const user = await world.newRich(usdc(100n));
  const ids = await openMany(user, 6);
  await advanceAll(ids);
  const sent = await sentOf(ids);
  expect(sent).toHaveLength(3);
  const waiting = ids.filter((id) => !sent.includes(id));
  expect(await world.waitsFor(waiting[0] ?? '')).toBe('other swaps of its account to end');
  expect(await refusal(user)).toBeUndefined();
  await moveMatic(15);
  for (const id of sent) expect(await world.goOn(id, 'failed')).toMatchObject({ error: priceMoved });
  await moveMatic(0);
  // The price is as good as before, and nothing is sent for them any more.
  for (const id of waiting) {
    const { error } = await world.goOn(id, 'failed');
    expect(error).toBe('Too many of your swaps failed because the price moved.');
    expect(await stepsOf(id)).toEqual([]);
  }
  expect(await world.balance(user, 'USDC')).toBe(usdc(100n).atomic);
  const problem = await refusal(user);
  expect(problem).toMatchObject({ status: 429, code: 'too_many_failed_swaps' });
  const seconds = Number(problem?.extras.headers?.['Retry-After']);
  expect(seconds).toBeGreaterThan(86_000);
  expect(seconds).toBeLessThanOrEqual(86_400);
  const other = await world.newRich(usdc(10n));
  expect(await refusal(other)).toBeUndefined();
});

test('whoever completes swaps has more under way at once', async () => {
  const user = await world.newRich(usdc(100n));
  const [first = '', ...more] = await openMany(user, 6);
  await world.goOn(first, 'completed');
  await advanceAll(more);
  const sent = await sentOf(more);
  expect(sent).toHaveLength(4);
  for (const id of new Set([...sent, ...more])) await world.goOn(id, 'completed');
});

test('a market that cannot be asked sends nothing, and the swap waits for it', async () => {
  const user = await world.newRich(usdc(10n));
  const [id = ''] = await openMany(user, 1);
  const silent: Market = { ...world.market(), quote: () => Promise.reject(new MarketUnreachable('silent')) };
  await world.runnerOf({ market: silent }).advance({ saga: 'swap', id });
  expect((await world.steps(id)).map(({ state }) => state)).toEqual(['ready']);
  await world.goOn(id, 'completed');
});
