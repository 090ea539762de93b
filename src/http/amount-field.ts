import { z } from 'zod';
import { coins } from '../chains/coins.ts';
import { type Amount, toDecimalText, toJsonNumber } from '../money/amount.ts';
import type { Asset } from '../money/asset.ts';
import { amountFromNumber, amountFromText, type ParsedAmount } from '../money/parse-amount.ts';
import { httpErrors } from './errors.ts';

/** The currencies that people send one another. */
export const currency = z.enum(['USDC', 'EURC'], { error: 'must be USDC or EURC' });

/** Everything that people hold: the currencies, and coins with eighteen decimals beside them. */
export const holding = z.enum([...currency.options, ...coins], {
  error: `must be one of ${[...currency.options, ...coins].join(', ')}`,
});

export type Holding = z.output<typeof holding>;

export function isCurrency(asset: Asset): asset is z.output<typeof currency> {
  return currency.safeParse(asset).success;
}

/** How an amount is answered: see `toFigure`. */
export const figure = z.union([z.number(), z.string()]);

/** A number in USDC and EURC. An amount of a coin has more digits than any number keeps, so it is always decimal text. */
export function toFigure(amount: Amount): number | string {
  return isCurrency(amount.asset) ? toJsonNumber(amount) : toDecimalText(amount);
}

/** A JSON number in a body. How many decimals it may have depends on the currency, so it is read together with that. */
export const amountNumber = z.number().meta({ description: 'More than 0, with at most 6 decimals.' });

/** In a body that may name a coin. */
export const holdingAmount = z.union([z.number(), z.string()], { error: 'must be a number or decimal text' });

/** Of a coin as a number or as text, of a currency as a number. */
export function holdingAmountOrRefuse(asset: Holding, value: number | string): Amount {
  if (isCurrency(asset) && typeof value === 'string') throw refused('must be a number');
  return amountOrRefuse(asset, value);
}

export function amountOrRefuse(asset: Asset, value: number | string, path = 'amount'): Amount {
  const parsed: ParsedAmount =
    typeof value === 'number' ? amountFromNumber(asset, value) : amountFromText(asset, value);
  if (parsed.ok) return parsed.amount;
  throw refused(parsed.message, path);
}

function refused(message: string, path = 'amount') {
  return httpErrors.invalid_request(`${path} ${message}.`, { errors: [{ path, message }] });
}
