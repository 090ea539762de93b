import { type Amount, amountOf } from '../money/amount.ts';
import type { CheckoutTotal } from './checkout.ts';
import type { OrderAsset } from './order.ts';

/** A stablecoin pays what is priced in the money that it stands for, and nothing else. */
export const currencyPaidBy = { USDC: 'USD', EURC: 'EUR' } as const satisfies Record<OrderAsset, string>;

/** Dollars and euros have hundred parts; the coins have a million. */
const atomicPerMinor = 10_000n;

export function toAmount(asset: OrderAsset, { minor }: CheckoutTotal): Amount {
  return amountOf(asset, minor * atomicPerMinor);
}

export function toMinor({ atomic }: Amount): bigint {
  if (atomic % atomicPerMinor !== 0n) throw new RangeError(`${atomic} is no whole number of cents`);
  return atomic / atomicPerMinor;
}
