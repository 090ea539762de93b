import type { Hex } from 'viem';
import type { Network } from '../../chains/network.ts';
import { type Clock, monotonicClock } from '../../kernel/clock.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { Problem } from '../../kernel/http/problem.ts';
import { startLoop } from '../../kernel/jobs/loop.ts';
import { noWakes, type Wakes } from '../../kernel/jobs/wakes.ts';
import { type ChainId, type Coin, chains, isCoin } from '../../money/catalogue.ts';
import { type Market, MarketUnreachable, type Wanted } from '../../money/market.ts';
import type { SagaParts } from '../steps/chain-step.ts';
import { isLiquidityNeeded, serveLiquidity } from '../steps/serve-liquidity.ts';
import type { GasCosts, GasWork } from '../treasury/gas-costs.ts';
import { type DepositToken, depositTokens } from '../wallets/kept-chains.ts';
import { type CoinToken, hasUnlent, openCoinSweeps, wantedOf } from './open-coin-sweeps.ts';
import { type OpenSweepOptions, openSweep } from './open-sweep.ts';

interface WorthParts {
  readonly market: Pick<Market, 'worth'>;
  readonly gasCosts: GasCosts;
  /** How many times its gas a sweep must be worth. */
  readonly timesGas: bigint;
  readonly clock?: Clock;
}

/** The gas that one wallet adds to a sweep of Circle's tokens, including its share of the transaction. */
const signedWork: GasWork = { gas: 120_000n, bytes: 500n };

/**
 * The amount of USDC or EURC from which a wallet is worth its share of a sweep. A euro counts as a dollar, as it does in every limit.
 * Undefined while the price of gas is unknown.
 */
function worthSigning({ gasCosts, timesGas }: WorthParts) {
  return async ({ id }: Network): Promise<bigint | undefined> => {
    try {
      return timesGas * (await gasCosts.inUsdc(id, signedWork));
    } catch (error) {
      if (error instanceof Problem) return undefined;
      throw error;
    }
  };
}

/** A generous bound for a loan and a transfer together. */
const gasOfSweep = 21_000n + 100_000n;

const keptMs = 10 * 60_000;

/**
 * The amount from which a sweep of a coin is worth its gas, at market prices. Cached, so that dust in many wallets causes no
 * requests. Undefined while the price is unknown.
 */
function createWorthBook({ market, timesGas, clock = monotonicClock }: WorthParts) {
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

export interface SweepOptions extends SagaParts {
  /** Decides whether a sweep is worth its gas. By default every sweep is. */
  readonly worth?: WorthParts;
  /** Atomic units of USDC or EURC: a wallet is swept when this much was deposited to it. One token when left out. */
  readonly threshold?: bigint;
  /** How long deposits gather before the next sweep, so that many wallets share one transaction. */
  readonly gatherMs?: number;
  readonly wakes?: Wakes;
  /** How often to look while there is something to sweep. */
  readonly pollMs?: number;
  readonly mostWallets?: number;
  readonly validSeconds?: bigint;
  /** Whether this process should act on a chain now. If two processes do, the work is done twice, which does no harm. */
  readonly mayAct?: (chain: ChainId) => boolean;
}

export interface Sweeps {
  stop(): Promise<void>;
}

/** Moves deposits to the treasury, on every chain, for as long as the process runs. */
export function startSweeps(options: SweepOptions): Sweeps {
  const { networks, logger, wakes = noWakes, pollMs = 2_000, mayAct = () => true } = options;
  const loops = [...networks.values()].map((network) => {
    const sweeper = createSweeper(options, network);
    return startLoop({
      logger,
      fields: { chain: network.id },
      trouble: 'deposits cannot be swept',
      rest: { wakes, topic: `sweeps/${network.id}` },
      paceMs: pollMs,
      async run() {
        if (!mayAct(network.id)) return pollMs;
        return (await sweeper.step()) === 'no_work' ? 'rest' : pollMs;
      },
    });
  });
  return {
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}

/** How long a wallet that could not pay is skipped. */
const unableMs = 10 * 60_000;

export interface Sweeper {
  /** Gives arrived tokens to waiting steps, and opens the next sweep when it is time. The saga carries it out. */
  step(): Promise<'done' | 'no_work'>;
}

export function createSweeper(options: SweepOptions, network: Network): Sweeper {
  const { db, logger, threshold = 1_000_000n, gatherMs = 10 * 60_000, mostWallets = 50 } = options;
  const { validSeconds = 3_600n, worth } = options;
  const worthSweeping = worth === undefined ? async () => 1n : createWorthBook(worth);
  const worthItsPart = worth === undefined ? async () => 1n : worthSigning(worth);
  const unableUntil = new Map<DepositToken['asset'], Map<Hex, number>>();
  const gatheringUntil = new Map<DepositToken['asset'], number>();

  async function open(token: DepositToken): Promise<void> {
    const needed = await isLiquidityNeeded(db, network.id, token.asset);
    const now = performance.now();
    const gathering = gatheringUntil.get(token.asset) ?? 0;
    if (!needed && now < gathering) return;
    const unable = unableUntil.get(token.asset) ?? new Map<Hex, number>();
    unableUntil.set(token.asset, unable);
    for (const [address, untilMs] of unable) if (untilMs < now) unable.delete(address);
    const wallets = await openFor(token, {
      needed,
      mostWallets,
      except: [...unable.keys()],
      onUnable(address) {
        unable.set(address, now + unableMs);
        logger.error(
          { chain: network.id, address, asset: token.asset },
          'a wallet cannot pay what was deposited to it',
        );
      },
    });
    // A full sweep means that more wallets are ready already.
    if (wallets > 0 && wallets < mostWallets) gatheringUntil.set(token.asset, now + gatherMs);
  }

  /** Circle's tokens are swept from many wallets at once, by their signatures; coins from one wallet each. */
  async function openFor(
    token: DepositToken,
    { needed, ...which }: Pick<OpenSweepOptions, 'mostWallets' | 'except' | 'onUnable'> & { readonly needed: boolean },
  ): Promise<number> {
    if (!isCoin(token.asset)) {
      const worth = await worthItsPart(network);
      const least = worth !== undefined && worth < threshold ? threshold : worth;
      if (needed) {
        const wanted = await wantedOf(db, network.id, token.asset);
        return openSweep(options, network, token, { ...which, threshold: 1n, wanted, worth: least, validSeconds });
      }
      return least === undefined ? 0 : openSweep(options, network, token, { ...which, threshold: least, validSeconds });
    }
    const coin: CoinToken = { ...token, asset: token.asset };
    const wanted = needed ? await wantedOf(db, network.id, coin.asset) : 0n;
    if (wanted > 0n) return openCoinSweeps(options, network, coin, { ...which, threshold: 1n, wanted });
    const least = await worthSweeping(network, coin.asset);
    return least === undefined ? 0 : openCoinSweeps(options, network, coin, { ...which, threshold: least });
  }

  /** Gives swept tokens to the waiting steps, even if the saga that is first in line cannot run now. */
  async function giveOut(asset: DepositToken['asset']): Promise<void> {
    if (await isLiquidityNeeded(db, network.id, asset)) await serveLiquidity(options, { chain: network.id, asset });
  }

  return {
    async step() {
      if (!(await hasWork(db, network.id))) return 'no_work';
      for (const { asset } of depositTokens(network)) await giveOut(asset);
      // While the last sweep cannot be sent, another one would not help.
      const isHeldUp = { signed: await hasUnsent(db, network.id), coins: await hasUnlent(db, network.id) };
      for (const token of depositTokens(network)) {
        if (!(isCoin(token.asset) ? isHeldUp.coins : isHeldUp.signed)) await open(token);
      }
      return 'done';
    },
  };
}

/** Whether anything was deposited or is waited for on this chain. Usually nothing is, and one query says so. */
async function hasWork(db: Queryable, chain: ChainId): Promise<boolean> {
  const { rows } = await db.query<{ found: boolean }>(
    `SELECT EXISTS (SELECT FROM chain_step_leaves WHERE chain = $1 AND wallet_id IS NULL)
         OR EXISTS (SELECT FROM unswept_changes WHERE chain = $1)
         OR EXISTS (SELECT FROM unswept_wallets WHERE chain = $1) AS found`,
    [chain],
  );
  return rows[0]?.found === true;
}

/** Whether a sweep on this chain waits for the provider to accept it. */
async function hasUnsent(db: Queryable, chain: ChainId): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT FROM sweeps w WHERE w.chain = $1 AND w.finished_at IS NULL AND NOT EXISTS (
       SELECT FROM chain_steps s WHERE s.saga_id = w.id AND (s.provider_ref IS NOT NULL OR s.settled_at IS NOT NULL))
      LIMIT 1`,
    [chain],
  );
  return rows.length > 0;
}
