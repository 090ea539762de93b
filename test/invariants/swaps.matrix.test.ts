import fc from 'fast-check';
import { expect, test } from 'vitest';
import { amountOf } from '../../src/money/amount.ts';
import { swapFee } from '../../src/money/fees.ts';
import { type SwapToken, swapTokens } from '../../src/payments/swaps/tokens.ts';
import { isMatrix } from '../support/matrix.ts';
import { useSwapWorld } from '../support/swaps.ts';

const world = useSwapWorld();

const pairs = swapTokens.flatMap((from) => swapTokens.filter((to) => to !== from).map((to) => ({ from, to })));

/** From what is just enough for a fee to some thousand USDC, all sizes alike. */
const amountIn = {
  USDC: { least: 10_000n, most: 5_000_000_000n },
  ETH: { least: 10n ** 13n, most: 10n ** 18n },
  MATIC: { least: 10n ** 16n, most: 10n ** 22n },
  DAI: { least: 10n ** 16n, most: 5n * 10n ** 21n },
} as const satisfies Record<SwapToken, object>;

const anySwap = fc.constantFrom(...pairs).chain(({ from, to }) => {
  const { least, most } = amountIn[from];
  return fc
    .record({ scale: fc.bigInt(1n, 1_000n), unit: fc.bigInt(0n, 999_999n) })
    .map(({ scale, unit }) => ({ from, to, atomic: least + ((most - least) * scale ** 3n) / 10n ** 9n + unit }));
});

/** What the house holds of a token, in both wallets that take part. */
const holdings = async (asset: SwapToken) => (await world.held('treasury', asset)) + (await world.held('swaps', asset));

test('what the books credit is what the chain has moved, to the last unit', { tags: ['longer'] }, async () => {
  const { numRuns, leastPairs } = isMatrix ? { numRuns: 24, leastPairs: 9 } : { numRuns: 8, leastPairs: 5 };
  const swaps = fc.sample(anySwap, { numRuns, seed: 20_261_116 });
  expect(new Set(swaps.map(({ from, to }) => `${from}/${to}`)).size).toBeGreaterThanOrEqual(leastPairs);
  const user = await world.newRich(...swapTokens.map((asset) => amountOf(asset, amountIn[asset].most * 30n)));
  for (const { from, to, atomic } of swaps) {
    const amount = amountOf(from, atomic);
    const before = {
      sold: await world.balance(user, from),
      bought: await world.balance(user, to),
      heldSold: await holdings(from),
      heldBought: await holdings(to),
      fees: await world.owed('fees', from),
    };
    const { amountOut, quoted } = await world.goOn(await world.open(user, amount, to), 'completed');
    const fee = swapFee(amount).atomic;
    const paid = (await holdings(to)) - before.heldBought;
    expect(paid).toBe(quoted.atomic);
    expect(amountOut?.atomic).toBe(paid);
    expect((await world.balance(user, to)) - before.bought).toBe(paid);
    expect(before.sold - (await world.balance(user, from))).toBe(atomic);
    expect(before.heldSold - (await holdings(from))).toBe(atomic - fee);
    expect((await world.owed('fees', from)) - before.fees).toBe(fee);
  }
  await world.checkAtRest();
});
