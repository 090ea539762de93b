import { describe, expect, test } from 'vitest';
import { marketMaker } from '../../../../sandbox/accounts.ts';
import { startLocalChains } from '../../../../sandbox/chains/local-chains.ts';
import { correctPrices } from '../../../../sandbox/uniswap/market-maker.ts';
import { pools } from '../../../../sandbox/uniswap/pools.ts';
import { createLogger } from '../../../../src/kernel/log/logger.ts';
import { startChains, type TestChains, useChains } from '../../../support/chains.ts';
import { useDatabase } from '../../../support/database.ts';
import { poolOf, useMarket } from '../../../support/uniswap.ts';

const database = useDatabase();
const chains = useChains(database);
const market = useMarket(chains);

const ether = poolOf('USDC', 'ETH', 500);
const dearEther = poolOf('USDC', 'ETH', 3000);
const matic = poolOf('USDC', 'MATIC');
const dai = poolOf('USDC', 'DAI');

async function sent(running: TestChains = chains): Promise<number> {
  return Number(await running.rpc('MATIC', 'eth_getTransactionCount', [marketMaker.address, 'latest']));
}

/** One look at the pools, as the market maker has it. */
function look(running: TestChains = chains): Promise<number> {
  const ask = async (call: { method: string; params: readonly unknown[] }) => ({
    result: await running.rpc('MATIC', call.method, call.params),
  });
  return correctPrices({
    id: 'MATIC',
    request: ask,
    async requestAll(calls) {
      const outcomes = [];
      for (const call of calls) outcomes.push(await ask(call));
      return outcomes;
    },
  });
}

/** The market maker sleeps while prices are moved, so that it sees them all at its next look. */
async function moveAll(moves: readonly Parameters<typeof market.movePrice>[0][]): Promise<void> {
  await market.restMarketMaker();
  for (const move of moves) await market.movePrice(move);
  await market.wakeMarketMaker();
}

const untilBack = (pool: (typeof pools)[number]) => expect.poll(() => market.priceOf(pool)).toBe(pool.reference);

describe('the market maker', () => {
  test('brings back what has strayed by more than 0.5 %, either way, and leaves alone what has not', async () => {
    const before = await sent();
    await moveAll([
      { asset: 'ETH', pool: ether, perMille: 6 },
      { asset: 'MATIC', pool: matic, perMille: -6 },
      { asset: 'ETH', pool: dearEther, perMille: 4.9 },
      { asset: 'DAI', pool: dai, perMille: -4.9 },
    ]);
    await untilBack(ether);
    // It trades in all of them at once.
    expect(await market.priceOf(matic)).toBe(matic.reference);
    expect(await sent()).toBe(before + 1);
    expect(Math.abs(await market.deviationOf(dearEther))).toBeCloseTo(4_880, -2);
    expect(Math.abs(await market.deviationOf(dai))).toBeCloseTo(4_920, -2);
  });

  test('does nothing when nothing has happened: no transaction, no block, no entry', async () => {
    const before = await journalLength();
    expect(await look()).toBe(0);
    expect(await journalLength()).toBe(before);
  });

  test('takes several trades for a long way, each of a million at most', { tags: ['matrix'] }, async () => {
    const before = await sent();
    await moveAll([{ asset: 'ETH', pool: ether, perMille: 250 }]);
    await untilBack(ether);
    expect(await sent()).toBeGreaterThan(before + 1);
  });

  test('rests without coin for gas, and on a chain that mines nothing', async () => {
    await market.restMarketMaker();
    await market.movePrice({ asset: 'MATIC', pool: matic, perMille: 20 });
    const moved = await market.priceOf(matic);
    expect(await look()).toBe(0);
    await chains.rpc('MATIC', 'evm_setAutomine', [false]);
    await market.wakeMarketMaker();
    expect(await look()).toBe(0);
    expect(await chains.rpc('MATIC', 'eth_pendingTransactions')).toEqual([]);
    expect(await market.priceOf(matic)).toBe(moved);
    await chains.rpc('MATIC', 'evm_setAutomine', [true]);
    await untilBack(matic);
  });
});

/** Last, as these stop the chains that the others use. */
describe('after a restart', () => {
  test('pools and prices are as they were, and the market maker goes on', async () => {
    await market.restMarketMaker();
    await market.movePrice({ asset: 'ETH', pool: ether, perMille: 30 });
    const prices = await Promise.all(pools.map(market.priceOf));
    await chains.stop();
    const again = await startChains(database);
    const other = await startLocalChains({ ...database, logger: createLogger('silent') });
    const reopened = useMarket(again);
    expect(await Promise.all(pools.map(reopened.priceOf))).toEqual(prices);
    expect(await look(again)).toBe(0);

    // Two processes have it, and one of them trades.
    const before = await sent(again);
    await reopened.wakeMarketMaker();
    await expect.poll(() => reopened.priceOf(ether)).toBe(ether.reference);
    expect(await sent(again)).toBe(before + 1);
    await other.stop();
    await again.stop();
  });
});

async function journalLength(): Promise<bigint | undefined> {
  const { rows } = await database.db.query<{ count: bigint }>('SELECT count(*) FROM sandbox.chain_journal');
  return rows[0]?.count;
}
