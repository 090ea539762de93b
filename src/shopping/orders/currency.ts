import { type Amount, amountOf } from '../../money/amount.ts';
import { assets, type Currency } from '../../money/catalogue.ts';
import { minorUnitOf, type Price } from '../search/price.ts';
import type { CheckoutTotal } from './checkout.ts';

/** As many coins as the shop asks for of its currency. Dollars and euros have hundred parts, yen have none; the coins have a million. */
export function toAmount(asset: Currency, { minor, currency }: CheckoutTotal): Amount {
  return amountOf(asset, minor * 10n ** BigInt(assets[asset].decimals - minorUnitOf(currency)));
}

/** What so many at this price come to in the smallest unit of its currency. Nothing where the price is finer than that unit: it cannot be paid. */
export function totalOf({ atomic, decimals, currency = '' }: Price, quantity: number): CheckoutTotal {
  const missing = minorUnitOf(currency) - decimals;
  return { minor: missing < 0 ? 0n : atomic * BigInt(quantity) * 10n ** BigInt(missing), currency };
}
