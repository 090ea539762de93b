import { type Amount, amountOf, expandExponent } from './amount.ts';
import { type Asset, assets } from './catalogue.ts';

/**
 * The most whole tokens that one request may name. With the highest fee on top it stays below a billion, so amount, fee
 * and total of a six-decimal asset have at most fifteen significant digits, and the JSON numbers in responses are
 * exact.
 */
export const mostTokens = 900_000_000n;
const mostWholeTokens = Number(mostTokens);

const oneToken = Object.fromEntries(
  Object.entries(assets).map(([asset, { decimals }]) => [asset, 10n ** BigInt(decimals)]),
) as Readonly<Record<Asset, bigint>>;

type AmountFault = 'not_an_amount' | 'not_positive' | 'too_many_decimals' | 'too_large';

export type ParsedAmount =
  | { readonly ok: true; readonly amount: Amount }
  | { readonly ok: false; readonly fault: AmountFault; readonly message: string };

/** Parses the shortest decimal text of a JSON number, which is what the caller wrote. */
export function amountFromNumber(asset: Asset, value: number): ParsedAmount {
  // Most amounts are whole, and need no text.
  if (Number.isInteger(value) && value > 0 && value <= mostWholeTokens)
    return { ok: true, amount: amountOf(asset, BigInt(value) * oneToken[asset]) };
  if (!Number.isFinite(value)) return refuse('not_an_amount', 'must be a number');
  if (value <= 0) return refuse('not_positive', 'must be more than 0');
  return amountFromText(asset, expandExponent(String(value)));
}

/** Plain decimal text such as "12.5" or ".5": digits with at most one point, no sign, exponent or space. */
export function amountFromText(asset: Asset, text: string): ParsedAmount {
  const digits = readDigits(text);
  if (digits === undefined) return refuse('not_an_amount', 'must be a decimal number such as 12.5');
  const { whole, fraction } = digits;
  const decimals = assets[asset].decimals;
  if (fraction.length > decimals) {
    return refuse('too_many_decimals', `must have at most ${decimals} decimals for ${asset}`);
  }
  const atomic = BigInt(whole + fraction.padEnd(decimals, '0'));
  if (atomic === 0n) return refuse('not_positive', 'must be more than 0');
  if (atomic > mostTokens * oneToken[asset]) return refuse('too_large', `must be at most ${mostTokens}`);
  return { ok: true, amount: amountOf(asset, atomic) };
}

/**
 * The shortest text of the same number: "50" for "050.00", "0.5" for ".5". Undefined when it is not plain decimal text.
 */
export function shortestDecimal(text: string): string | undefined {
  const digits = readDigits(text);
  return digits && `${digits.whole}${digits.fraction === '' ? '' : `.${digits.fraction}`}`;
}

/** Drops leading and trailing zeros. */
function readDigits(text: string): { readonly whole: string; readonly fraction: string } | undefined {
  // No double has a longer text.
  const match = text.length > 400 ? null : /^(?=\.?\d)0*(\d*)(?:\.(\d+))?$/.exec(text);
  if (match === null) return undefined;
  const [, whole = '', fraction = ''] = match;
  return { whole: whole || '0', fraction: fraction.replace(/0+$/, '') };
}

function refuse(fault: AmountFault, message: string): ParsedAmount {
  return { ok: false, fault, message };
}
