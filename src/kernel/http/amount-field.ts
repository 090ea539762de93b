import { z } from 'zod';
import { type Amount, expandExponent, toDecimalText, toJsonNumber } from '../../money/amount.ts';
import { type Asset, coins, currencies, holdings, isCurrency } from '../../money/catalogue.ts';
import { listed } from '../../money/in-words.ts';
import { amountFromNumber, amountFromText, shortestDecimal } from '../../money/parse-amount.ts';
import { httpErrors } from './errors.ts';

export const currency = z.enum(currencies, { error: `must be ${listed(currencies, 'or')}` });

/** The currencies, and the coins with 18 decimals. */
export const holding = z.enum(holdings, { error: `must be one of ${holdings.join(', ')}` });

/** An amount in a response: see `toAmountValue`. */
export const amountValue = z.union([z.number(), z.string()]);

export const amountValueFormat = `A number for ${listed(currencies)}, a decimal string for ${listed(coins)}.`;

/** A number for USDC and EURC. Coins have more digits than a JSON number can hold, so they are decimal strings. */
export function toAmountValue(amount: Amount): number | string {
  return isCurrency(amount.asset) ? toJsonNumber(amount) : toDecimalText(amount);
}

/** An amount in a request: 50, "50" and "50.00" are equal. */
export class GivenAmount {
  readonly given: number | string;

  constructor(given: number | string) {
    this.given = given;
  }

  /**
   * One form for all spellings, so that the request hash recognises a retry: a number where that is exact, otherwise the shortest
   * decimal string. An invalid amount stays as given; `requireAmount` refuses it.
   */
  toJSON(): number | string {
    // JavaScript writes it without an exponent, so it is in that form already.
    if (typeof this.given === 'number' && this.given >= 1e-6 && this.given < 1e21) return this.given;
    const text = shortestDecimal(typeof this.given === 'number' ? expandExponent(String(this.given)) : this.given);
    if (text === undefined) return this.given;
    return expandExponent(String(Number(text))) === text ? Number(text) : text;
  }
}

/** The allowed decimals depend on the currency, so `requireAmount` parses the amount together with it. */
export const amountField = z
  .union([z.number(), z.string()], { error: 'must be a number such as 12.5, or a decimal string' })
  .transform((given) => new GivenAmount(given))
  .meta({ description: 'A number or decimal string greater than 0, with at most 6 decimals.' });

export function requireAmount(asset: Asset, value: GivenAmount | number | string, path = 'amount'): Amount {
  const given = value instanceof GivenAmount ? value.given : value;
  const parsed = typeof given === 'number' ? amountFromNumber(asset, given) : amountFromText(asset, given);
  if (parsed.ok) return parsed.amount;
  throw httpErrors.invalid_request(`${path} ${parsed.message}.`, { errors: [{ path, message: parsed.message }] });
}
