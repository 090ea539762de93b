import { type GasCosts, type GasWork, orUnavailable } from '../../custody/treasury/gas-costs.ts';
import { type Amount, amountOf, subtract, toDecimalText } from '../../money/amount.ts';
import { homeChain } from '../../money/catalogue.ts';
import { leastSwapFor, swapFee } from '../../money/fees.ts';
import type { Market, MarketQuote, Wanted } from '../../money/market.ts';
import { swapErrors } from './errors.ts';
import { rateOf } from './rate.ts';
import type { SwapToken } from './tokens.ts';

export interface QuoteParts {
  readonly market: Market;
  readonly gasCosts: GasCosts;
}

/** Fill the wallet, approve the router, and undo both. */
const besideTheSwap = 200_000n;

/** The gas limit of the swap transaction. It is bounded because anybody can open a pool that uses all the gas it gets. */
export const mostSwapGas = (poolGas: bigint): bigint => 100_000n + poolGas;

/** The gas of all transactions of a swap. */
export const swapWork = (poolGas: bigint): GasWork => ({ gas: besideTheSwap + mostSwapGas(poolGas), bytes: 1_500n });

/**
 * The gas of a swap, in the sold asset. The house pays it from the fee, so an amount whose fee does not cover it is refused. If the price
 * moves during the swap, only the gas is kept.
 */
async function coverGas({ market, gasCosts }: QuoteParts, fee: Amount, poolGas: bigint): Promise<Amount> {
  const { asset } = fee;
  const cost = await gasCosts.inUsdc(homeChain, swapWork(poolGas));
  if (cost === 0n) return amountOf(asset, 0n);
  const worth = await orUnavailable(market.worth({ from: 'USDC', to: asset, atomic: cost }));
  if (worth === undefined) throw swapErrors.insufficient_liquidity();
  // Rounded up.
  const needed = asset === 'USDC' ? cost : worth + 1n;
  if (fee.atomic >= needed) return amountOf(asset, needed);
  const least = leastSwapFor(amountOf(asset, needed));
  throw swapErrors.swap_amount_too_small(
    `The gas for a swap currently costs ${toDecimalText(amountOf('USDC', cost))} USDC, which the fee on this amount does not cover. Swap at least ${toDecimalText(least)} ${asset}.`,
    { members: { leastAmount: toDecimalText(least), currency: asset } },
  );
}

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
