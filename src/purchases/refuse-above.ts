import { type Amount, toJsonNumber } from '../money/amount.ts';
import { purchaseErrors } from './errors.ts';

/** The caller has said how much it may cost at most. */
export function refuseAbove(maximum: Amount, price: Amount): void {
  if (price.atomic <= maximum.atomic) return;
  const told = { price: toJsonNumber(price), currency: price.asset, maxAmount: toJsonNumber(maximum) };
  throw purchaseErrors.price_above_maximum(
    `The seller asks for ${told.price} ${told.currency}, which is more than maxAmount. Nothing was paid.`,
    { members: told },
  );
}
