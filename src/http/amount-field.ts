import { z } from 'zod';
import type { Amount } from '../money/amount.ts';
import type { Asset } from '../money/asset.ts';
import { amountFromNumber, amountFromText, type ParsedAmount } from '../money/parse-amount.ts';
import { httpErrors } from './errors.ts';

/** The currencies that people hold and send. */
export const currency = z.enum(['USDC', 'EURC'], { error: 'must be USDC or EURC' });

/** A JSON number in a body. How many decimals it may have depends on the currency, so it is read together with that. */
export const amountNumber = z.number().meta({ description: 'More than 0, with at most 6 decimals.' });

export function amountOrRefuse(asset: Asset, value: number | string): Amount {
  const parsed: ParsedAmount =
    typeof value === 'number' ? amountFromNumber(asset, value) : amountFromText(asset, value);
  if (parsed.ok) return parsed.amount;
  const { message } = parsed;
  throw httpErrors.invalid_request(`amount ${message}.`, { errors: [{ path: 'amount', message }] });
}
