import { type Amount, amountOf, toJsonNumber } from '../../money/amount.ts';
import { purchaseErrors } from './errors.ts';

export function refuseAbove(maximum: Amount, price: Amount, fee: Amount = amountOf(price.asset, 0n)): void {
  if (price.atomic + fee.atomic <= maximum.atomic) return;
  const told = { price: toJsonNumber(price), currency: price.asset, maxAmount: toJsonNumber(maximum) };
  const withFee = fee.atomic === 0n ? '' : ` With our fee of ${toJsonNumber(fee)} ${told.currency} that`;
  throw purchaseErrors.price_above_maximum(
    withFee === ''
      ? `The seller asks for ${told.price} ${told.currency}, which exceeds maxAmount. Nothing was paid.`
      : `The seller asks for ${told.price} ${told.currency}.${withFee} exceeds maxAmount. Nothing was paid.`,
    { members: { ...told, ...(fee.atomic > 0n && { fee: toJsonNumber(fee) }) } },
  );
}
