import { orUnavailable } from '../../custody/treasury/or-unavailable.ts';
import { type Amount, amountOf, subtract } from '../../money/amount.ts';
import { swapFee } from '../../money/fees.ts';
import type { Market, MarketQuote, Wanted } from '../../money/market.ts';
import { coverGas, type QuoteParts } from './cover-gas.ts';
import { swapErrors } from './errors.ts';
import { rateOf } from './rate.ts';
import type { SwapToken } from './tokens.ts';

export interface SwapTerms {
  readonly amount: Amount;
  readonly fee: Amount;
  /** The part of the fee that is kept for gas if the price moves during the swap. */
  readonly gasFee: Amount;
  /** The gas that the pools may use. */
  readonly poolGas: bigint;
  /** The market's price for the amount less the fee. */
  readonly amountOut: Amount;
  readonly amountOutMin: Amount;
  /** The price of one unit of the sold asset, including the fee. */
  readonly rate: string;
}

/** The maximum price impact, in millionths. */
const mostImpact = 50_000n;

/** By the time of the swap a pool may cross more ticks, or another path may be better. */
const gasToSpare = 100_000n;

/** The current terms of a swap. Refuses amounts that are too small, and too high a price impact. */
export async function quoteSwap({ market, gasCosts }: QuoteParts, amount: Amount, to: SwapToken): Promise<SwapTerms> {
  const fee = swapFee(amount);
  if (fee.atomic === 0n) throw swapErrors.swap_amount_too_small();
  const net = subtract(amount, fee);
  const wanted = { from: amount.asset, to, atomic: net.atomic };
  const quote = await orUnavailable(market.quote(wanted));
  if (quote === undefined) throw swapErrors.insufficient_liquidity();
  const poolGas = quote.gas + gasToSpare;
  const gasFee = await coverGas({ market, gasCosts }, fee, poolGas);
  const amountOut = amountOf(to, quote.amountOut);
  const amountOutMin = amountOf(to, (quote.amountOut * 99n) / 100n);
  if (amountOutMin.atomic === 0n) throw swapErrors.swap_amount_too_small();
  const impact = await impactOf(market, wanted, quote);
  if (impact > mostImpact) {
    // Rounded up, so that the message never shows exactly the allowed 5 %.
    const percent = (Math.ceil(Number(impact) / 100) / 100).toFixed(2);
    throw swapErrors.price_impact_too_high(
      `The price impact of this amount is ${percent} %, and at most 5 % is allowed. Swap a smaller amount.`,
    );
  }
  return { amount, fee, gasFee, poolGas, amountOut, amountOutMin, rate: rateOf(amountOut, amount) };
}

/** The larger loss against the path's own prices and against the deepest pools, because a pool's owner can set any price. */
async function impactOf(market: Market, wanted: Wanted, { amountOut, impact }: MarketQuote): Promise<bigint> {
  // Each of the two pools rounds down.
  const worth = ((await orUnavailable(market.worth(wanted))) ?? 0n) - 2n;
  const lost = worth > amountOut ? ((worth - amountOut) * 1_000_000n) / worth : 0n;
  return lost > impact ? lost : impact;
}
