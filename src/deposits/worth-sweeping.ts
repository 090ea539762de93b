import { chains } from '../chains/chains.ts';
import type { Coin } from '../chains/coins.ts';
import type { Network } from '../chains/network.ts';
import { type Clock, monotonicClock } from '../clock.ts';
import { type Market, MarketUnreachable, type Wanted } from '../swaps/market.ts';

export interface WorthParts {
  readonly market: Pick<Market, 'quote'>;
  /** How many times its gas a sweep must be worth. */
  readonly timesGas: bigint;
  readonly clock?: Clock;
}

/** What a loan and a transfer use together, generously. */
const gasOfSweep = 21_000n + 100_000n;

const keptMs = 10 * 60_000;

/**
 * From which amount a sweep of a coin is worth its gas, at what the market pays for that gas. Asked once in a while, so that
 * dust in many wallets costs no questions. Undefined while nobody can say.
 */
export function createWorthBook({ market, timesGas, clock = monotonicClock }: WorthParts) {
  const known = new Map<Coin, { readonly until: number; readonly atomic: bigint }>();

  async function inTokens(wanted: Wanted): Promise<bigint | undefined> {
    try {
      return (await market.quote(wanted))?.amountOut;
    } catch (error) {
      if (error instanceof MarketUnreachable) return undefined;
      throw error;
    }
  }

  return async (network: Network, asset: Coin): Promise<bigint | undefined> => {
    const before = known.get(asset);
    if (before !== undefined && clock.now() < before.until) return before.atomic;
    const { maxFeePerGas } = await network.client.estimateFeesPerGas();
    const { native } = chains[network.id];
    const worth = gasOfSweep * maxFeePerGas * timesGas;
    const atomic = asset === native ? worth : await inTokens({ from: native, to: asset, atomic: worth });
    if (atomic !== undefined) known.set(asset, { until: clock.now() + keptMs, atomic });
    return atomic;
  };
}
