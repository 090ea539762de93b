import { orUnavailable } from '../../custody/treasury/or-unavailable.ts';
import { type Amount, amountOf, subtract } from '../../money/amount.ts';
import { swapFee } from '../../money/fees.ts';
import type { Market, MarketQuote, Wanted } from '../../money/market.ts';
import { coverGas, type QuoteParts } from './cover-gas.ts';
import { swapErrors } from './errors.ts';
import { rateOf } from './rate.ts';
import type { SwapToken } from './tokens.ts';

/** What a swap would come to. */
export interface SwapTerms {
  readonly amount: Amount;
  readonly fee: Amount;
  /** What is kept for gas if the market does not keep to its price. Part of the fee, which comes back otherwise. */
  readonly gasFee: Amount;
  /** What the pools may use of gas when it is swapped. */
  readonly poolGas: bigint;
  /** What the market pays now for the rest. */
  readonly amountOut: Amount;
  readonly amountOutMin: Amount;
  /** How much is paid for one of what is sold, fee and all. */
  readonly rate: string;
}

/** In millionths: a price that the amount itself would move by more is nobody's wish. */
const mostImpact = 50_000n;

/** Until it is swapped a pool may need a step more, or another way may pay more. */
const gasToSpare = 100_000n;

/** The terms of a swap as they are now. Refuses what would come to nothing, and what the market could only serve badly. */
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
    // Rounded up: what is refused is never told to be just what is allowed.
    const percent = (Math.ceil(Number(impact) / 100) / 100).toFixed(2);
    throw swapErrors.price_impact_too_high(
      `The price impact of this amount is ${percent} %, and at most 5 % is allowed. Swap a smaller amount.`,
    );
  }
  return { amount, fee, gasFee, poolGas, amountOut, amountOutMin, rate: rateOf(amountOut, amount) };
}

/** Against the prices of the pools on the way, and against what it is worth: a pool's own price is whatever its owner likes. */
async function impactOf(market: Market, wanted: Wanted, { amountOut, impact }: MarketQuote): Promise<bigint> {
  // Each pool on the way rounds down.
  const worth = ((await orUnavailable(market.worth(wanted))) ?? 0n) - 2n;
  const lost = worth > amountOut ? ((worth - amountOut) * 1_000_000n) / worth : 0n;
  return lost > impact ? lost : impact;
}
