import type { GasCosts, GasWork } from '../../custody/treasury/gas-costs.ts';
import { orUnavailable } from '../../custody/treasury/or-unavailable.ts';
import { type Amount, amountOf, toDecimalText } from '../../money/amount.ts';
import { homeChain } from '../../money/catalogue.ts';
import { leastSwapFor } from '../../money/fees.ts';
import type { Market } from '../../money/market.ts';
import { swapErrors } from './errors.ts';

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
export async function coverGas({ market, gasCosts }: QuoteParts, fee: Amount, poolGas: bigint): Promise<Amount> {
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
