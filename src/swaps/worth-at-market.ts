import type { Market, Wanted } from './market.ts';
import { quoteOrUnavailable } from './quote-or-unavailable.ts';
import type { SwapToken } from './tokens.ts';

/** A little of each, in atomic units: worth some USDC, which a pool pays without moving its price. */
export const aLittle: Readonly<Record<SwapToken, bigint>> = {
  USDC: 10_000_000n,
  ETH: 10n ** 16n,
  MATIC: 10n ** 19n,
  DAI: 10n ** 19n,
};

/**
 * What so much comes to at what the market pays now for a little of it. Of an amount that takes more steps in the deep pools than a
 * quote may, only shallow ones say what they pay, which anybody can open, at any price. Undefined when nothing is paid.
 */
export async function worthAtMarket(
  market: Pick<Market, 'quote'>,
  { from, to, atomic }: Wanted & { readonly from: SwapToken },
): Promise<bigint | undefined> {
  const little = aLittle[from];
  const quote = await quoteOrUnavailable(market, { from, to, atomic: little });
  return quote && (atomic * quote.amountOut) / little;
}
