import type { Network } from '../../chains/network.ts';
import { type Clock, monotonicClock } from '../../kernel/clock.ts';
import { Problem } from '../../kernel/http/problem.ts';
import { type Coin, chains } from '../../money/catalogue.ts';
import { type Market, MarketUnreachable, type Wanted } from '../../money/market.ts';
import type { GasCosts, GasWork } from '../treasury/gas-costs.ts';

export interface WorthParts {
  readonly market: Pick<Market, 'worth'>;
  readonly gasCosts: GasCosts;
  /** How many times its gas a sweep must be worth. */
  readonly timesGas: bigint;
  readonly clock?: Clock;
}

/** What one wallet adds to a sweep of Circle's tokens, with its part of the transaction that carries many. */
const signedWork: GasWork = { gas: 120_000n, bytes: 500n };

/**
 * From which amount of USDC or EURC a wallet is worth its part of a sweep. A euro counts as a dollar, as it does in every limit.
 * Undefined while nobody can say.
 */
export function worthSigning({ gasCosts, timesGas }: WorthParts) {
  return async ({ id }: Network): Promise<bigint | undefined> => {
    try {
      return timesGas * (await gasCosts.inUsdc(id, signedWork));
    } catch (error) {
      if (error instanceof Problem) return undefined;
      throw error;
    }
  };
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
      return await market.worth(wanted);
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
