import { type Amount, amountOf } from '../../money/amount.ts';
import { assets, type Currency } from '../../money/catalogue.ts';
import { minorUnitOf, type Price } from '../search/price.ts';
import type { CheckoutTotal } from './checkout.ts';

/** Converts a total in minor units to the stablecoin's atomic units. */
export function toAmount(asset: Currency, { minor, currency }: CheckoutTotal): Amount {
  return amountOf(asset, minor * 10n ** BigInt(assets[asset].decimals - minorUnitOf(currency)));
}

/** The total in the currency's minor unit. It is 0 if the price is finer than that unit, because it cannot be paid. */
export function totalOf({ atomic, decimals, currency = '' }: Price, quantity: number): CheckoutTotal {
  const missing = minorUnitOf(currency) - decimals;
  return { minor: missing < 0 ? 0n : atomic * BigInt(quantity) * 10n ** BigInt(missing), currency };
}
