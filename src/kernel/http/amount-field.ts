import { z } from 'zod';
import { type Amount, expandExponent, toDecimalText, toJsonNumber } from '../../money/amount.ts';
import { type Asset, coins, currencies, holdings, isCurrency } from '../../money/catalogue.ts';
import { listed } from '../../money/in-words.ts';
import { amountFromNumber, amountFromText, shortestDecimal } from '../../money/parse-amount.ts';
import { httpErrors } from './errors.ts';

/** The currencies that people send one another. */
export const currency = z.enum(currencies, { error: `must be ${listed(currencies, 'or')}` });

/** Everything that people hold: the currencies, and coins with eighteen decimals beside them. */
export const holding = z.enum(holdings, { error: `must be one of ${holdings.join(', ')}` });

/** How an amount is answered: see `toFigure`. */
export const figure = z.union([z.number(), z.string()]);

/** For descriptions of one. */
export const figureInWords = `A number for ${listed(currencies)}, a decimal string for ${listed(coins)}.`;

/** A number in USDC and EURC. An amount of a coin has more digits than any number keeps, so it is always decimal text. */
export function toFigure(amount: Amount): number | string {
  return isCurrency(amount.asset) ? toJsonNumber(amount) : toDecimalText(amount);
}

/** An amount as a request gives it: 50, "50" and "50.00" are the same one. */
export class GivenAmount {
  readonly given: number | string;

  constructor(given: number | string) {
    this.given = given;
  }

  /**
   * One form for all spellings, by which a request that is sent again is recognised: a number where one is exact, otherwise the shortest
   * decimal text. What is no amount stays as it is, and is refused by whoever reads it.
   */
  toJSON(): number | string {
    const text = shortestDecimal(typeof this.given === 'number' ? expandExponent(String(this.given)) : this.given);
    if (text === undefined) return this.given;
    return expandExponent(String(Number(text))) === text ? Number(text) : text;
  }
}

/**
 * A JSON number or decimal text, in a body or a query. How many decimals it may have depends on the currency, so it is read together
 * with that, by `amountOrRefuse`.
 */
export const amountField = z
  .union([z.number(), z.string()], { error: 'must be a number such as 12.5, or a decimal string' })
  .transform((given) => new GivenAmount(given))
  .meta({ description: 'A number or decimal string greater than 0, with at most 6 decimals.' });

export function amountOrRefuse(asset: Asset, value: GivenAmount | number | string, path = 'amount'): Amount {
  const given = value instanceof GivenAmount ? value.given : value;
  const parsed = typeof given === 'number' ? amountFromNumber(asset, given) : amountFromText(asset, given);
  if (parsed.ok) return parsed.amount;
  throw httpErrors.invalid_request(`${path} ${parsed.message}.`, { errors: [{ path, message: parsed.message }] });
}
