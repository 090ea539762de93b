import { homeChain } from '../chains/chains.ts';
import { type Amount, amountOf, toDecimalText } from '../money/amount.ts';
import { leastSwapFor } from '../money/fees.ts';
import type { GasCosts, GasWork } from '../treasury/gas-costs.ts';
import { swapErrors } from './errors.ts';
import type { Market, MarketQuote } from './market.ts';
import { quoteOrUnavailable } from './quote-or-unavailable.ts';
import { isSwapToken } from './tokens.ts';
import { aLittle } from './worth-at-market.ts';

/** Who is asked what a swap comes to. */
export interface QuoteParts {
  readonly market: Market;
  readonly gasCosts: GasCosts;
}

/**
 * To fill the wallet that swaps, to allow the router to take the amount, and to swap it or to undo all that. The pools on the way
 * say what they use themselves: anybody can open one that uses much.
 */
export function swapWork({ gas }: Pick<MarketQuote, 'gas'>): GasWork {
  return { gas: 400_000n + gas, bytes: 1_500n };
}

/**
 * What the gas of a swap costs, in what is sold. The house pays it out of the fee, so a fee that is worth less is refused. If the market
 * does not keep to its price, it is all that is kept.
 */
export async function coverGas({ market, gasCosts }: QuoteParts, fee: Amount, quote: MarketQuote): Promise<Amount> {
  const { asset } = fee;
  const cost = await gasCosts.inUsdc(homeChain, swapWork(quote));
  if (cost === 0n) return amountOf(asset, 0n);
  const needed = await inAsset(market, asset, cost);
  if (fee.atomic >= needed) return amountOf(asset, needed);
  const least = leastSwapFor(amountOf(asset, needed));
  throw swapErrors.swap_amount_too_small(
    `The gas of a swap costs ${toDecimalText(amountOf('USDC', cost))} USDC now, and the fee has to pay for it. The smallest amount is ${toDecimalText(least)} ${asset}.`,
    { members: { leastAmount: toDecimalText(least), currency: asset } },
  );
}

/** How much of an asset is worth so much USDC at what the market pays for a little of it, rounded up. */
async function inAsset(market: QuoteParts['market'], asset: Amount['asset'], usdc: bigint): Promise<bigint> {
  if (asset === 'USDC' || !isSwapToken(asset)) return usdc;
  const little = aLittle[asset];
  const quote = await quoteOrUnavailable(market, { from: asset, to: 'USDC', atomic: little });
  if (quote === undefined || quote.amountOut === 0n) throw swapErrors.insufficient_liquidity();
  return (usdc * little + quote.amountOut - 1n) / quote.amountOut;
}
