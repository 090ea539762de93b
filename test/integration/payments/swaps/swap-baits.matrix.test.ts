import type { Hex } from 'viem';
import { afterEach, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest';
import { tradedTokens } from '../../../../sandbox/uniswap/pools.ts';
import type { GasCosts } from '../../../../src/custody/treasury/gas-costs.ts';
import { amountOf, subtract } from '../../../../src/money/amount.ts';
import { type Market, MarketUnreachable } from '../../../../src/money/market.ts';
import { swapWork } from '../../../../src/payments/swaps/quote-swap.ts';
import { gasKeptOf } from '../../../../src/payments/swaps/swap.ts';
import type { User } from '../../../support/deposits.ts';
import { type Mallory, newMallory, tickOf } from '../../../support/mallory.ts';
import { oneOfMany } from '../../../support/matrix.ts';
import { useSwapWorld } from '../../../support/swaps.ts';
import { poolOf, useMarket } from '../../../support/uniswap.ts';

const world = useSwapWorld();
const { chains } = world.deposits;
const market = useMarket(chains);

const priceMoved = 'The price moved by more than 1 % before the swap was made.';
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
  const { poolGas } = await world.look(id);
  return { user, id, allowed: swapWork(poolGas).gas };
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
  world.forgetTricks();
  if (isMoved) await moveMatic(0);
  await world.checkAtRest();
});

for (const asset of Object.keys(sold) as Sold[]) {
  describe(`a price that moves while ${asset} is swapped`, oneOfMany({ isRepresentative: asset === 'USDC' }), () => {
    const { amount, move } = sold[asset];

    async function expectPaidFor({ user, id, allowed }: Awaited<ReturnType<typeof begin>>, feesBefore: bigint) {
      const swap = await world.goOn(id, 'failed');
      const { gasFee, fee } = swap;
      expect(swap.error).toBe(priceMoved);
      expect(gasKeptOf(swap)).toEqual(gasFee);
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
      expect(await world.goOn(id, 'failed')).toMatchObject({ error: priceMoved, txHash: null, gasDue: false });
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
      const swap = await world.goOn(id, 'completed');
      const { fee } = swap;
      expect(gasKeptOf(swap).atomic).toBe(0n);
      expect((await world.owed('fees', asset)) - before).toBe(fee.atomic);
      expect(await gasUsed(id)).toBeLessThanOrEqual(allowed);
    });
  });
}

test('a swap that was begun and comes too late is back whole: that is not its owner’s doing', async () => {
  const { amount, to } = sold.USDC;
  const user = await world.newRich(amount);
  const id = await world.open(user, amount, to, { gasCosts });
  await world.goOn(id, 'preparing', world.step);
  const { deadline } = await world.look(id);
  onTestFinished(() => void vi.restoreAllMocks());
  vi.spyOn(Date, 'now').mockReturnValue(Number(deadline) * 1_000);
  expect(await world.goOn(id, 'failed')).toMatchObject({
    error: 'The swap could not be made before its deadline.',
    gasDue: false,
  });
  expect(await world.balance(user, 'USDC')).toBe(amount.atomic);
});

describe('all is back, because the market has kept to its price, when', () => {
  async function expectWhole(user: User, id: string): Promise<void> {
    const swap = await world.goOn(id, 'failed');
    expect(gasKeptOf(swap).atomic).toBe(0n);
    expect(await world.balance(user, 'USDC')).toBe(sold.USDC.amount.atomic);
  }

  test('the provider refuses the swap', async () => {
    const { user, id } = await begin('USDC');
    await world.goOn(id, 'swapping', world.step);
    world.providerPlays('swap', 'refuses');
    await expectWhole(user, id);
  });

  test('the provider has not heard of the first transaction, and the price moves before it is asked again', async () => {
    const { user, id } = await begin('USDC');
    world.providerPlays('fill', 'does_not_hear');
    await world.advance(id).catch(() => undefined);
    expect((await world.steps(id)).map(({ state }) => state)).toEqual(['asked']);
    await moveMatic(15);
    await expectWhole(user, id);
  });
});

describe('a pool that uses much gas', () => {
  const token0 = tradedTokens.MATIC;
  const token1 = tradedTokens.USDC;
  let mallory: Mallory;
  let tick: number;
  const steps = (count: number) =>
    mallory.add(
      Array.from({ length: count }, (_, place) => ({
        token0,
        token1,
        fee: 100,
        tickLower: tick + 1 + place,
        tickUpper: tick + 2 + place,
        amount0Desired: 5n * 10n ** 18n,
        amount1Desired: 0n,
      })),
    );

  beforeAll(async () => {
    mallory = await newMallory(chains, 2_000n);
    // More than a percent more MATIC for a USDC than elsewhere, and half of that where the most of it is.
    const price = (poolOf('USDC', 'MATIC').reference * 994n) / 1_000n;
    tick = tickOf(price);
    await mallory.openPool({ token0, token1, fee: 100, price });
  });

  test('and is opened when a swap was accepted is not gone through, and steps added when its way is chosen are not paid by us', async () => {
    const [baited, honest] = [await begin('USDC'), await begin('USDC')];
    await world.goOn(baited.id, 'preparing', world.step);
    // One place with enough for both, which both choose; and then many steps before it.
    await mallory.add([
      {
        token0,
        token1,
        fee: 100,
        tickLower: tick + 60,
        tickUpper: tick + 70,
        amount0Desired: 10n ** 21n,
        amount1Desired: 0n,
      },
    ]);
    await world.goOn(baited.id, 'swapping', world.step);
    await steps(58);
    const failed = await world.goOn(baited.id, 'failed');
    expect(failed.error).toBe('The swap needs more gas than was quoted.');
    expect(gasKeptOf(failed)).toEqual(failed.gasFee);
    expect(await gasUsed(baited.id)).toBeLessThanOrEqual(baited.allowed);
    // The better price is there, and takes more gas than this swap has paid for.
    const swap = await world.goOn(honest.id, 'completed');
    expect(swap.path).not.toBe(failed.path);
    expect(await gasUsed(honest.id)).toBeLessThanOrEqual(honest.allowed);
  });
});

test('a market that cannot be asked sends nothing, and the swap waits for it', async () => {
  const { id } = await begin('USDC');
  const silent: Market = { ...world.market(), quote: () => Promise.reject(new MarketUnreachable('silent')) };
  await world.runnerOf({ market: silent }).advance({ saga: 'swap', id });
  expect((await world.steps(id)).map(({ state }) => state)).toEqual(['ready']);
  await world.goOn(id, 'completed');
});
