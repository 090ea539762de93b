import { expect, test } from 'vitest';
import { amountOf } from '../money/amount.ts';
import { createRates } from './rates.ts';

interface World {
  readonly worth?: bigint | null;
  readonly euro?: bigint | null;
}

function ratesWith({ worth = 3_000_000_000n, euro = 1_080_000n }: World = {}) {
  const clock = { at: 0, now: () => clock.at };
  const market = {
    asked: 0,
    price: worth as bigint | null,
    worth: async () => {
      market.asked++;
      if (market.price === null) throw new Error('unreachable');
      return market.price;
    },
  };
  return { clock, market, rates: createRates({ market, euro: { usdcPerEurc: () => euro ?? undefined }, clock }) };
}

test('the same currency needs no rate', () => {
  const { rates } = ratesWith({ worth: null, euro: null });
  expect(rates.inCurrency(amountOf('EURC', 7n), 'EURC')).toBe(7n);
});

test('euros are converted at once, and rounded up', () => {
  const { rates } = ratesWith();
  expect(rates.inCurrency(amountOf('EURC', 1_000_000n), 'USDC')).toBe(1_080_000n);
  expect(rates.inCurrency(amountOf('EURC', 1n), 'USDC')).toBe(2n);
  expect(rates.inCurrency(amountOf('USDC', 1_080_000n), 'EURC')).toBe(1_000_000n);
  expect(rates.inCurrency(amountOf('USDC', 1n), 'EURC')).toBe(1n);
});

test('no way through another currency counts less', () => {
  const { rates } = ratesWith();
  for (let atomic = 1n; atomic < 2_000n; atomic += 7n) {
    const inEuro = rates.inCurrency(amountOf('USDC', atomic), 'EURC') as bigint;
    expect(rates.inCurrency(amountOf('EURC', inEuro), 'USDC')).toBeGreaterThanOrEqual(atomic);
  }
});

test('the price of a coin is asked once a minute, and rounded up', async () => {
  const { rates, market, clock } = ratesWith();
  expect(await rates.inCurrency(amountOf('ETH', 10n ** 18n), 'USDC')).toBe(3_000_000_001n);
  market.price = 4_000_000_000n;
  clock.at = 59_999;
  expect(rates.inCurrency(amountOf('ETH', 10n ** 15n), 'USDC')).toBe(3_000_001n);
  expect(await rates.inCurrency(amountOf('ETH', 10n ** 18n), 'EURC')).toBe(2_777_777_779n);
  expect(market.asked).toBe(1);
  clock.at = 60_000;
  expect(await rates.inCurrency(amountOf('ETH', 1n), 'USDC')).toBe(1n);
  expect(market.asked).toBe(2);
});

test('without a rate the payment is refused, and an old price is not used', async () => {
  const { rates, market, clock } = ratesWith({ euro: null });
  const refused = expect.objectContaining({ code: 'rate_unavailable', status: 403 });
  expect(() => rates.inCurrency(amountOf('EURC', 1n), 'USDC')).toThrow(refused);
  expect(() => rates.inCurrency(amountOf('USDC', 1n), 'EURC')).toThrow(refused);
  await rates.inCurrency(amountOf('ETH', 1n), 'USDC');
  market.price = null;
  clock.at = 60_000;
  await expect(rates.inCurrency(amountOf('ETH', 1n), 'USDC')).rejects.toEqual(refused);
  market.price = 1n;
  clock.at += 5_000;
  expect(await rates.inCurrency(amountOf('ETH', 1n), 'USDC')).toBe(1n);
});
