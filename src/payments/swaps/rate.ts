import { type Amount, toDecimalText } from '../../money/amount.ts';
import { assets } from '../../money/catalogue.ts';

const places = 18n;

/** The amount paid per unit sold, as decimal text, rounded down. */
export function rateOf(paid: Amount, sold: Amount): string {
  const scale = 10n ** (places + BigInt(assets[sold.asset].decimals) - BigInt(assets[paid.asset].decimals));
  return asText((paid.atomic * scale) / sold.atomic);
}

/** The shortfall against the expected amount: 0.01 is 1 %. Negative when more was paid. */
export function slippageOf(paid: Amount, expected: Amount): string {
  return asText(((expected.atomic - paid.atomic) * 10n ** places) / expected.atomic);
}

/** ETH has as many decimals as a rate. */
function asText(scaled: bigint): string {
  return toDecimalText({ asset: 'ETH', atomic: scaled } as Amount);
}
