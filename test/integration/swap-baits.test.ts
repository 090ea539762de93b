import type { Hex } from 'viem';
import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { amountOf, subtract } from '../../src/money/amount.ts';
import { swapWork } from '../../src/swaps/cover-gas.ts';
import { type Market, MarketUnreachable } from '../../src/swaps/market.ts';
import type { Swap } from '../../src/swaps/swap.ts';
import type { GasCosts } from '../../src/treasury/gas-costs.ts';
import type { User } from '../support/deposits.ts';
import { useSwapWorld } from '../support/swaps.ts';
import { poolOf, useMarket } from '../support/uniswap.ts';

const world = useSwapWorld();
const { chains } = world.deposits;
const market = useMarket(chains);

const priceMoved = 'The price moved by more than 1 % before it could be swapped.';
const sold = {
  USDC: { amount: amountOf('USDC', 50_000_000n), to: 'MATIC', move: 15 },
  MATIC: { amount: amountOf('MATIC', 100n * 10n ** 18n), to: 'USDC', move: -15 },
} as const;
type Sold = keyof typeof sold;

/** What gas costs here, in millionths of a USDC. */
const gasCosts: GasCosts = { inUsdc: async (_chain, { gas }) => gas / 50n };

let isMoved = false;

/** MATIC costs so many per mille more than it did. */
async function moveMatic(perMille: number): Promise<void> {
  await market.movePrice({ asset: 'MATIC', pool: poolOf('USDC', 'MATIC'), perMille });
  await market.movePrice({ asset: 'MATIC', pool: poolOf('ETH', 'MATIC'), perMille });
  isMoved = perMille !== 0;
}

async function begin(asset: Sold): Promise<{ readonly user: User; readonly id: string; readonly allowed: bigint }> {
  const { amount, to } = sold[asset];
  const user = await world.newRich(amount);
  const id = await world.open(user, amount, to, { gasCosts });
  const { net } = await world.look(id);
  const quote = await world.market().quote({ from: asset, to, atomic: net.atomic });
  if (quote === undefined) throw new Error('the market is empty');
  return { user, id, allowed: swapWork(quote).gas };
}

/** What its transactions have used, by their receipts. */
async function gasUsed(id: string): Promise<bigint> {
  const { client } = chains.network('MATIC');
  const hashes = (await world.steps(id)).flatMap(({ hash }) => hash ?? []);
  const receipts = await Promise.all(hashes.map((hash) => client.getTransactionReceipt({ hash: hash as Hex })));
  return receipts.reduce((sum, receipt) => sum + receipt.gasUsed, 0n);
}

beforeAll(() => market.restMarketMaker());
afterEach(async () => {
  if (isMoved) await moveMatic(0);
  await world.checkAtRest();
});

describe.each(Object.keys(sold) as Sold[])('a price that moves while %s is swapped', (asset) => {
  const { amount, move } = sold[asset];

  async function expectPaidFor({ user, id, allowed }: Awaited<ReturnType<typeof begin>>, feesBefore: bigint) {
    const { gasFee, fee, error, gasKept }: Swap = await world.goOn(id, 'failed');
    expect({ error, gasKept }).toEqual({ error: priceMoved, gasKept: true });
    expect(gasFee.atomic).toBeGreaterThan(0n);
    expect(gasFee.atomic).toBeLessThanOrEqual(fee.atomic);
    expect(await world.balance(user, asset)).toBe(subtract(amount, gasFee).atomic);
    expect((await world.owed('fees', asset)) - feesBefore).toBe(gasFee.atomic);
    const used = await gasUsed(id);
    expect(used).toBeGreaterThan(100_000n);
    expect(used).toBeLessThanOrEqual(allowed);
    expect(await world.eventsOf(user)).toEqual(['swap.failed']);
  }

  test('before anything was sent costs no gas, and all is back', async () => {
    const { user, id } = await begin(asset);
    await moveMatic(move);
    expect(await world.goOn(id, 'failed')).toMatchObject({ error: priceMoved, txHash: null, gasKept: false });
    expect(await world.steps(id)).toEqual([]);
    expect(await world.balance(user, asset)).toBe(amount.atomic);
  });

  test('while it is prepared costs its owner the gas, and the rest is back', async () => {
    const before = await world.owed('fees', asset);
    const begun = await begin(asset);
    await world.goOn(begun.id, 'preparing', world.step);
    await moveMatic(move);
    await expectPaidFor(begun, before);
  });

  test('when it was prepared costs its owner the gas, however often it is given back', async () => {
    const before = await world.owed('fees', asset);
    const begun = await begin(asset);
    await world.goOn(begun.id, 'swapping', world.step);
    await moveMatic(move);
    // Each may be told that another one asks at the same time.
    await Promise.allSettled([world.step(begun.id), world.step(begun.id), world.step(begun.id)]);
    await expectPaidFor(begun, before);
  });

  test('too little costs the fee alone, which covers what was used', async () => {
    const before = await world.owed('fees', asset);
    const { id, allowed } = await begin(asset);
    const { fee, gasKept } = await world.goOn(id, 'completed');
    expect(gasKept).toBe(false);
    expect((await world.owed('fees', asset)) - before).toBe(fee.atomic);
    expect(await gasUsed(id)).toBeLessThanOrEqual(allowed);
  });
});

test('a swap that was begun and comes too late is back whole: that is not its owner’s doing', async () => {
  const { amount, to } = sold.USDC;
  const user = await world.newRich(amount);
  const id = await world.open(user, amount, to, { gasCosts });
  await world.goOn(id, 'preparing', world.step);
  const { deadline } = await world.look(id);
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(Date, 'now').mockReturnValue(Number(deadline) * 1_000);
  expect(await world.goOn(id, 'failed')).toMatchObject({ error: 'It could not be swapped in time.', gasKept: false });
  expect(await world.balance(user, 'USDC')).toBe(amount.atomic);
});

test('a market that cannot be asked sends nothing, and the swap waits for it', async () => {
  const { id } = await begin('USDC');
  const silent: Market = { ...world.market(), quote: () => Promise.reject(new MarketUnreachable('silent')) };
  await world.runnerOf({ market: silent }).advance({ saga: 'swap', id });
  expect((await world.steps(id)).map(({ state }) => state)).toEqual(['ready']);
  await world.goOn(id, 'completed');
});
