import { type Asset, assets } from './catalogue.ts';

declare const unit: unique symbol;

/** A whole number of an asset's smallest units. The brand keeps counts, ids and cents from being mistaken for one. */
type Atomic = bigint & { readonly [unit]: 'atomic' };

export interface Amount {
  readonly asset: Asset;
  readonly atomic: Atomic;
}

/** The row of a table that keeps one asset, and these amounts as whole numbers of its smallest unit. */
export type Stored<Thing, Amounts extends keyof Thing> = Omit<Thing, Amounts> & { readonly asset: Asset } & {
  readonly [Name in Amounts]: bigint | Extract<Thing[Name], null>;
};

export function amountOf(asset: Asset, atomic: bigint): Amount {
  return { asset, atomic: atomic as Atomic };
}

export function add(left: Amount, right: Amount): Amount {
  return amountOf(sameAsset(left, right), left.atomic + right.atomic);
}

export function subtract(left: Amount, right: Amount): Amount {
  return amountOf(sameAsset(left, right), left.atomic - right.atomic);
}

function sameAsset(left: Amount, right: Amount): Asset {
  if (left.asset !== right.asset) throw new TypeError(`cannot combine ${left.asset} with ${right.asset}`);
  return left.asset;
}

/** The shortest decimal text: "100.5", "0", "-0.000001". */
export function toDecimalText({ asset, atomic }: Amount): string {
  const decimals = assets[asset].decimals;
  const negative = atomic < 0n;
  const digits = (negative ? -atomic : atomic).toString().padStart(decimals + 1, '0');
  const whole = digits.slice(0, -decimals);
  const fraction = digits.slice(-decimals).replace(/0+$/, '');
  return `${negative ? '-' : ''}${whole}${fraction === '' ? '' : `.${fraction}`}`;
}

/** "8.5 USDC". */
export function toText(amount: Amount): string {
  return `${toDecimalText(amount)} ${amount.asset}`;
}

/** Every decimal number with at most fifteen significant digits survives the way through a double. */
const surelyExact = 10n ** 15n;

/**
 * A JSON number that reads back as exactly this amount. Up to fifteen significant digits that always holds: every
 * amount of a six-decimal asset below a billion. Throws instead of rounding; send such an amount as text.
 */
export function toJsonNumber(amount: Amount): number {
  const { asset, atomic } = amount;
  // Both are exact, so their quotient is the double nearest to the amount.
  if (atomic < surelyExact && atomic > -surelyExact) return Number(atomic) / 10 ** assets[asset].decimals;
  const text = toDecimalText(amount);
  if (text !== expandExponent(String(Number(text)))) {
    throw new RangeError(`${text} ${amount.asset} has no exact JSON number`);
  }
  return Number(text);
}

/** JavaScript writes very small and very large numbers as 1e-7 and 1e+21, but amounts are parsed digit by digit. */
export function expandExponent(text: string): string {
  const match = /^(-?)(\d+)(?:\.(\d+))?e([+-]\d+)$/.exec(text);
  if (match === null) return text;
  const [, sign = '', whole = '', fraction = '', exponent = '0'] = match;
  const digits = whole + fraction;
  const point = whole.length + Number(exponent);
  if (point <= 0) return `${sign}0.${'0'.repeat(-point)}${digits}`;
  if (point >= digits.length) return `${sign}${digits.padEnd(point, '0')}`;
  return `${sign}${digits.slice(0, point)}.${digits.slice(point)}`;
}
