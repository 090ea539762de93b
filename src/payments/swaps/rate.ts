import { type Amount, toDecimalText } from '../../money/amount.ts';
import { assets } from '../../money/catalogue.ts';

/** Decimal places that a rate is told with. */
const places = 18n;

/** How much of the one is paid for one of the other, as decimal text, rounded down. */
export function rateOf(paid: Amount, sold: Amount): string {
  const scale = 10n ** (places + BigInt(assets[sold.asset].decimals) - BigInt(assets[paid.asset].decimals));
  return asText((paid.atomic * scale) / sold.atomic);
}

/** By which part less was paid than was expected: 0.01 is 1 %. Below zero when it was more. */
export function slippageOf(paid: Amount, expected: Amount): string {
  return asText(((expected.atomic - paid.atomic) * 10n ** places) / expected.atomic);
}

/** An asset with as many places serves to write it down. */
function asText(scaled: bigint): string {
  return toDecimalText({ asset: 'ETH', atomic: scaled } as Amount);
}
