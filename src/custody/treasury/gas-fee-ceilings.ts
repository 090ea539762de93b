import { formatGwei, parseGwei } from 'viem';
import type { z } from 'zod';
import { type FeeCeiling, usualCeiling } from '../../chains/gas-fee-ceiling.ts';
import { type ChainFacts, type ChainId, chainIds, chains } from '../../money/catalogue.ts';

/** By chain, in wei. */
export type GasPrices = ReadonlyMap<ChainId, bigint>;

/** In gwei: no chain accepts less, and above it a single transfer would cost a fortune. */
const range = { from: '0.01', to: '100000' };

/** The defaults are well above every peak, so ten times as much no longer protects. */
const unsafeTimes = 10n;

/** The default ceilings, in the setting's own format. */
export function usualPrices(part: keyof ChainFacts['gasCeiling']): string {
  return chainIds.map((chain) => `${chain}=${chains[chain].gasCeiling[part]}`).join(',');
}

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

interface CeilingSettings {
  readonly fees: GasPrices | undefined;
  readonly tips: GasPrices | undefined;
  readonly gasLimit: number;
}

export function composeCeilings({ fees, tips, gasLimit }: CeilingSettings): ReadonlyMap<ChainId, FeeCeiling> {
  return new Map(
    chainIds.map((chain) => {
      const usual = usualCeiling(chain);
      const maxFee = fees?.get(chain) ?? usual.maxFee;
      const priorityFee = tips?.get(chain) ?? usual.priorityFee;
      // No chain accepts a tip above the whole fee.
      const tip = priorityFee < maxFee ? priorityFee : maxFee;
      return [chain, { maxFee, priorityFee: tip, gasLimit: BigInt(gasLimit) }];
    }),
  );
}

/** Live mode refuses a ceiling so high that a lying node could empty the gas wallet. */
export function unsafeCeilings({ fees, tips }: Omit<CeilingSettings, 'gasLimit'>): string[] {
  const tooHigh = (name: string, prices: GasPrices | undefined, usual: (chain: ChainId) => bigint) =>
    Array.from(prices ?? []).flatMap(([chain, price]) => {
      const most = usual(chain) * unsafeTimes;
      return price <= most ? [] : [`${name} is unsafe: ${chain} may be at most ${formatGwei(most)} gwei`];
    });
  return [
    ...tooHigh('FEE_CEILING_GWEI', fees, (chain) => usualCeiling(chain).maxFee),
    ...tooHigh('TIP_CEILING_GWEI', tips, (chain) => usualCeiling(chain).priorityFee),
  ];
}
