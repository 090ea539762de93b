import { formatGwei, parseGwei } from 'viem';
import type { z } from 'zod';
import { type FeeCeiling, smaller, usualCeiling } from '../../chains/gas-fee-ceiling.ts';
import { type ChainId, chainIds, chains } from '../../money/catalogue.ts';

/** By chain, in wei. */
export type GasPrices = ReadonlyMap<ChainId, bigint>;

/** In gwei: no chain accepts less, and above it a single transfer would cost a fortune. */
const range = { from: '0.01', to: '100000' };

/** The defaults are well above every peak, so ten times as much no longer protects. */
const unsafeTimes = 10n;

/** The default ceilings, as the operator would write them. */
export const usualPrices = chainIds.map((chain) => `${chain}=${chains[chain].gasCeiling.fee}`).join(',');

/** `ETH=500,MATIC=10000`, in gwei. */
export function readGasPrices(text: string, context: z.RefinementCtx): GasPrices {
  const prices = new Map<ChainId, bigint>();
  for (const part of text.split(',')) {
    const [name = '', gwei = '', ...more] = part.trim().split('=');
    const chain = chainIds.find((id) => id === name);
    const price = /^\d{1,6}(\.\d{1,9})?$/.test(gwei) ? parseGwei(gwei) : undefined;
    if (chain === undefined || price === undefined || more.length > 0) {
      context.addIssue({ code: 'custom', message: 'must be a list such as ETH=500,MATIC=10000, in gwei' });
      return prices;
    }
    if (price < parseGwei(range.from) || price > parseGwei(range.to)) {
      context.addIssue({ code: 'custom', message: `must name prices from ${range.from} to ${range.to} gwei` });
      return prices;
    }
    prices.set(chain, price);
  }
  return prices;
}

/** The ceiling of every chain: the operator's, or the usual one. */
export function composeCeilings(fees: GasPrices | undefined): ReadonlyMap<ChainId, FeeCeiling> {
  return new Map(
    chainIds.map((chain) => {
      const usual = usualCeiling(chain);
      const maxFee = fees?.get(chain) ?? usual.maxFee;
      // No chain takes a tip that is more than the whole fee.
      return [chain, { ...usual, maxFee, priorityFee: smaller(usual.priorityFee, maxFee) }];
    }),
  );
}

/** Live mode refuses a ceiling so high that a lying node could empty the gas wallet below it. */
export function unsafeCeilings(fees: GasPrices | undefined): string[] {
  return Array.from(fees ?? []).flatMap(([chain, price]) => {
    const most = usualCeiling(chain).maxFee * unsafeTimes;
    return price <= most ? [] : [`FEE_CEILING_GWEI is unsafe: ${chain} may be at most ${formatGwei(most)} gwei`];
  });
}
