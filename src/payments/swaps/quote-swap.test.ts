import { expect, test } from 'vitest';
import { freeGas, type GasWork } from '../../custody/treasury/gas-costs.ts';
import { amountOf } from '../../money/amount.ts';
import type { Market } from '../../money/market.ts';
import { quoteSwap } from './quote-swap.ts';

const marketThatSays = (amountOut: bigint, impact: bigint) => ({
  market: {
    quote: async () => ({ amountOut, impact, gas: 0n, path: '0x' }),
    worth: async () => amountOut,
  } as unknown as Market,
  gasCosts: freeGas,
});

test.each([
  [50_001n, '5.01 %'],
  [95_000n, '9.50 %'],
])('an impact of %s millionths is told as %s of what is lost', async (impact, percent) => {
  const asked = quoteSwap(marketThatSays(1_000n, impact), amountOf('USDC', 1_000_000n), 'ETH');
  await expect(asked).rejects.toThrow(`The price impact of this amount is ${percent}`);
});

test('what comes to nothing is too little, and 5 % are allowed', async () => {
  const amount = amountOf('USDC', 1_000_000n);
  await expect(quoteSwap(marketThatSays(0n, 0n), amount, 'ETH')).rejects.toMatchObject({
    code: 'swap_amount_too_small',
  });
  await expect(quoteSwap(marketThatSays(1_000n, 50_000n), amount, 'ETH')).resolves.toMatchObject({ amount });
});

test('what only a pool at a price of its own pays is no price', async () => {
  // Ether at 3,000 USDC; of a thousand only the pool of somebody says what it pays, one USDC, and its price stands at just that.
  const market = {
    quote: async ({ atomic }: { readonly atomic: bigint }) => ({
      amountOut: atomic > 100n * 10n ** 18n ? 1_000_000n : (atomic * 3_000n) / 10n ** 12n,
      impact: 0n,
      gas: 0n,
      path: '0x',
    }),
    worth: async ({ atomic }: { readonly atomic: bigint }) => (atomic * 3_000n) / 10n ** 12n,
  } as unknown as Market;
  const ether = (whole: bigint) =>
    quoteSwap({ market, gasCosts: freeGas }, amountOf('ETH', whole * 10n ** 18n), 'USDC');
  await expect(ether(10n)).resolves.toMatchObject({ amountOut: amountOf('USDC', 29_850_000_000n) });
  await expect(ether(1_000n)).rejects.toMatchObject({ code: 'price_impact_too_high' });
});

test('a fee that does not pay for the gas is refused, with the smallest amount whose fee does', async () => {
  // Ether at 3,000 USDC, and gas for 0.02 USDC.
  const worth: Market['worth'] = async ({ from, to, atomic }) =>
    from === 'ETH' ? (atomic * 3_000n) / 10n ** 12n : to === 'ETH' ? (atomic * 10n ** 12n) / 3_000n : atomic;
  const quoteWith =
    (gas: bigint): Market['quote'] =>
    async (wanted) => ({ amountOut: (await worth(wanted)) ?? 0n, impact: 0n, gas, path: '0x' });
  const parts = {
    market: { quote: quoteWith(100_000n), worth } as Market,
    gasCosts: { inUsdc: async (_: unknown, { gas }: GasWork) => gas / 25n },
  };
  const tooSmall = (asset: 'USDC' | 'ETH', atomic: bigint) =>
    expect(quoteSwap(parts, amountOf(asset, atomic), asset === 'ETH' ? 'USDC' : 'ETH')).rejects;
  await tooSmall('USDC', 1n).toMatchObject({ code: 'swap_amount_too_small' });
  await tooSmall('USDC', 3_999_899n).toMatchObject({
    code: 'swap_amount_too_small',
    extras: { members: { leastAmount: '3.9999', currency: 'USDC' } },
  });
  await expect(quoteSwap(parts, amountOf('USDC', 3_999_900n), 'ETH')).resolves.toMatchObject({
    fee: amountOf('USDC', 20_000n),
    gasFee: amountOf('USDC', 20_000n),
  });
  await tooSmall('ETH', 10n ** 15n).toMatchObject({ extras: { members: { leastAmount: '0.0013333333333333' } } });
  const heavy = {
    ...parts,
    market: { quote: quoteWith(900_000n), worth } as Market,
  };
  await expect(quoteSwap(heavy, amountOf('USDC', 3_999_900n), 'ETH')).rejects.toMatchObject({
    extras: { members: { leastAmount: '10.3999' } },
  });
});
