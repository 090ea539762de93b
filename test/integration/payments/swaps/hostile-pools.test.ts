import { expect, test } from 'vitest';
import { type Traded, tradedTokens, worth } from '../../../../sandbox/uniswap/pools.ts';
import { refuseBeyondValue } from '../../../../src/custody/limits/value-limits.ts';
import { freeGas, type GasCosts } from '../../../../src/custody/treasury/gas-costs.ts';
import { amountOf } from '../../../../src/money/amount.ts';
import { createUniswapMarket } from '../../../../src/payments/swaps/adapters/uniswap/uniswap-market.ts';
import { quoteSwap } from '../../../../src/payments/swaps/quote-swap.ts';
import { useChains } from '../../../support/chains.ts';
import { useDatabase } from '../../../support/database.ts';
import { type Mallory, newMallory, tickOf } from '../../../support/mallory.ts';
import { poolOf, useMarket } from '../../../support/uniswap.ts';

const database = useDatabase();
const chains = useChains(database, { pollMs: 0 });
const { priceOf } = useMarket(chains);

/** The finest pool that there can be, at the price of the one that is deep, with one USDC's worth on each side. */
async function openDustPools(pairs: readonly (readonly [Traded, Traded])[]): Promise<void> {
  const mallory = await newMallory(chains, 10n);
  for (const pair of pairs) {
    const deep = poolOf(...pair);
    const [first, second] = deep.assets;
    const price = await priceOf(deep);
    const tick = tickOf(price);
    const [token0, token1, fee] = [tradedTokens[first], tradedTokens[second], 100] as const;
    await mallory.openPool({ token0, token1, fee, price });
    const dust = {
      token0,
      token1,
      fee,
      tickLower: tick - 10,
      tickUpper: tick + 10,
      amount0Desired: worth(first, 1n),
      amount1Desired: worth(second, 1n),
    };
    await mallory.add([dust]);
  }
}

test('pools with next to nothing in them, which anybody can open, keep nobody from getting a quote', async () => {
  const market = createUniswapMarket(chains.networks);
  const wanted = { from: 'USDC', to: 'ETH', atomic: 100_000_000n } as const;
  const before = await market.quote(wanted);
  expect(before).toBeDefined();
  // Each runs dry at once, and is then searched for more over every price that there can be.
  await openDustPools([
    ['USDC', 'ETH'],
    ['USDC', 'MATIC'],
    ['ETH', 'MATIC'],
    ['ETH', 'DAI'],
  ]);
  expect(await market.quote(wanted)).toEqual(before);
});

/** Steps in the price of every pool that buys MATIC, so many that no quote goes past them. */
async function addSteps(mallory: Mallory): Promise<void> {
  for (const other of ['USDC', 'ETH'] as const) {
    const { fee, reference } = poolOf('MATIC', other);
    const top = Math.floor(tickOf(reference) / 10) * 10 - 10;
    await mallory.add(
      Array.from({ length: 60 }, (_, place) => ({
        token0: tradedTokens.MATIC,
        token1: tradedTokens[other],
        fee,
        tickLower: top - 10 * (place + 1),
        tickUpper: top - 10 * place,
        amount0Desired: 0n,
        amount1Desired: worth(other, 1n) / 10n,
      })),
    );
  }
}

test('a pool at a price of its own, which alone quotes what is large, makes nothing cheap', async () => {
  const mallory = await newMallory(chains, 100n);
  await addSteps(mallory);
  const [token0, token1, fee] = [tradedTokens.MATIC, tradedTokens.USDC, 10_000] as const;
  // A millionth of a USDC for one MATIC.
  await mallory.openPool({ token0, token1, fee, price: 2n ** 96n / 10n ** 9n });
  const range = { tickLower: -415_000, tickUpper: -414_800, amount0Desired: 0n, amount1Desired: 20_000_000n };
  await mallory.add([{ token0, token1, fee, ...range }]);
  const market = createUniswapMarket(chains.networks);
  const much = amountOf('MATIC', worth('MATIC', 2_500_000n));
  // It is all that anybody pays, and hardly moves the price of that pool.
  const quote = await market.quote({ from: 'MATIC', to: 'USDC', atomic: much.atomic });
  expect(quote?.amountOut).toBeLessThan(10_000_000n);
  expect(quote?.impact).toBeLessThan(50_000n);
  await expect(quoteSwap({ market, gasCosts: freeGas }, much, 'USDC')).rejects.toMatchObject({
    code: 'price_impact_too_high',
  });
  await expect(refuseBeyondValue(market, much)).rejects.toMatchObject({ code: 'invalid_request' });
});

test('a pool that pays fifty times as much, for as long as it lasts, makes gas neither cheap nor dear, and keeps nobody from swapping', async () => {
  const market = createUniswapMarket(chains.networks);
  const gasCosts: GasCosts = { inUsdc: async (_chain, { gas }) => gas / 15n };
  const dai = (text: bigint) => amountOf('DAI', text * 10n ** 17n);
  const before = await quoteSwap({ market, gasCosts }, dai(100n), 'USDC');
  const wanted = { from: 'DAI', to: 'USDC', atomic: dai(100n).atomic } as const;
  const worthBefore = await market.worth(wanted);
  const [token0, token1] = [tradedTokens.USDC, tradedTokens.DAI].sort((a, b) => (BigInt(a) < BigInt(b) ? -1 : 1)) as [
    `0x${string}`,
    `0x${string}`,
  ];
  const isDaiFirst = token0 === tradedTokens.DAI;
  const ratio = isDaiFirst ? 50e6 / 1e18 : 1e18 / 50e6;
  const mallory = await newMallory(chains, 1_000n);
  const price = BigInt(Math.round(Math.sqrt(ratio) * 2 ** 80)) << 16n;
  await mallory.openPool({ token0, token1, fee: 10_000, price });
  const near = Math.floor(tickOf(price) / 200) * 200;
  await mallory.add([
    {
      token0,
      token1,
      fee: 10_000,
      tickLower: isDaiFirst ? near - 200 : near + 200,
      tickUpper: isDaiFirst ? near : near + 400,
      amount0Desired: isDaiFirst ? 0n : 700_000_000n,
      amount1Desired: isDaiFirst ? 700_000_000n : 0n,
    },
  ]);
  // Whoever sells little gets it; but nothing else is decided by it.
  const { amountOut, gasFee } = await quoteSwap({ market, gasCosts }, dai(100n), 'USDC');
  expect(amountOut.atomic).toBeGreaterThan(40n * before.amountOut.atomic);
  expect(await market.worth(wanted)).toBe(worthBefore);
  expect(gasFee.atomic).toBeGreaterThanOrEqual(before.gasFee.atomic - 10n ** 16n);
  await expect(quoteSwap({ market, gasCosts }, dai(2n), 'USDC')).rejects.toMatchObject({
    code: 'swap_amount_too_small',
  });
  await expect(quoteSwap({ market, gasCosts }, dai(10_000n), 'USDC')).resolves.toBeDefined();
});
