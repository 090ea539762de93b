import type { Hex } from 'viem';
import type { ChainId } from '../chains/chains.ts';
import type { Network } from '../chains/network.ts';
import type { Queryable } from '../db/database.ts';
import { startLoop } from '../jobs/loop.ts';
import { backOffMs, createTrouble, type Trouble } from '../jobs/trouble.ts';
import { type DepositToken, depositTokens } from '../wallets/deposit-tokens.ts';
import { ProviderError } from '../wallets/provider.ts';
import { advanceSweep } from './advance-sweep.ts';
import { openSweep } from './open-sweep.ts';
import type { SweepParts } from './sweep-parts.ts';
import { listOpenSweeps, type Sweep } from './sweep-row.ts';

export interface SweepOptions extends SweepParts {
  /** Atomic units of USDC or EURC: a wallet is swept when this much was deposited to it. One token when left out. */
  readonly threshold?: bigint;
  /** How long deposits gather before the next sweep, so that many wallets share one transaction. */
  readonly gatherMs?: number;
  /** How often to look after the sweeps that are under way. */
  readonly pollMs?: number;
  readonly mostWallets?: number;
  readonly validSeconds?: bigint;
  /** Whether this process should act on a chain now. Two that do take work off nobody's hands, but do no harm. */
  readonly mayAct?: (chain: ChainId) => boolean;
}

export interface Sweeps {
  stop(): Promise<void>;
}

/** Carries deposits to the treasury, on every chain, for as long as the process runs. */
export function startSweeps(options: SweepOptions): Sweeps {
  const { networks, logger, pollMs = 2_000, mayAct = () => true } = options;
  const loops = [...networks.values()].map((network) => {
    const sweeper = createSweeper(options, network);
    return startLoop({
      logger,
      fields: { chain: network.id },
      trouble: 'deposits cannot be swept',
      async run() {
        if (mayAct(network.id)) await sweeper.step();
        return pollMs;
      },
    });
  });
  return {
    async stop() {
      await Promise.all(loops.map((loop) => loop.stop()));
    },
  };
}

/** How long a wallet that could not pay is left alone. */
const unableMs = 10 * 60_000;
/** How often to look again at a sweep that only waits for the end of its authorizations. */
const waitingMs = 30_000;

interface Waiting {
  readonly trouble: Trouble;
  failures: number;
  untilMs: number;
}

export interface Sweeper {
  /** Advances every sweep that is under way, and opens the next one when it is time. */
  step(): Promise<void>;
}

export function createSweeper(options: SweepOptions, network: Network): Sweeper {
  const { db, logger, threshold = 1_000_000n, gatherMs = 10 * 60_000, mostWallets = 50 } = options;
  const { validSeconds = 3_600n } = options;
  const waiting = new Map<string, Waiting>();
  const unableUntil = new Map<DepositToken['asset'], Map<Hex, number>>();
  const gatheringUntil = new Map<DepositToken['asset'], number>();

  async function advance(sweep: Sweep): Promise<void> {
    const wait = waiting.get(sweep.id) ?? {
      trouble: createTrouble(logger, { chain: network.id, sweep: sweep.id }, 'a sweep waits'),
      failures: 0,
      untilMs: 0,
    };
    if (performance.now() < wait.untilMs) return;
    waiting.set(sweep.id, wait);
    try {
      const progress = await advanceSweep(options, network, sweep);
      wait.trouble.over();
      wait.failures = 0;
      if (progress === 'done') waiting.delete(sweep.id);
      if (progress === 'waiting_for_end') wait.untilMs = performance.now() + waitingMs;
    } catch (error) {
      wait.failures += 1;
      wait.trouble.report(error);
      const askedFor = error instanceof ProviderError ? error.retryAfterMs : undefined;
      wait.untilMs = performance.now() + (askedFor ?? backOffMs(wait.failures, { from: 1_000, most: 60_000 }));
    }
  }

  async function open(token: DepositToken): Promise<boolean> {
    const needed = await isNeeded(db, network.id, token.asset);
    const now = performance.now();
    const gathering = gatheringUntil.get(token.asset) ?? 0;
    if (!needed && now < gathering) return false;
    const unable = unableUntil.get(token.asset) ?? new Map<Hex, number>();
    unableUntil.set(token.asset, unable);
    for (const [address, untilMs] of unable) if (untilMs < now) unable.delete(address);
    const wallets = await openSweep(options, network, token, {
      threshold: needed ? 1n : threshold,
      mostWallets,
      validSeconds,
      except: [...unable.keys()],
      onUnable(address) {
        unable.set(address, now + unableMs);
        logger.error(
          { chain: network.id, address, asset: token.asset },
          'a wallet cannot pay what was deposited to it',
        );
      },
    });
    // When it was full there are more, and they have gathered already.
    if (wallets > 0 && wallets < mostWallets) gatheringUntil.set(token.asset, now + gatherMs);
    return wallets > 0;
  }

  return {
    async step() {
      const underWay = await listOpenSweeps(db, network.id);
      for (const sweep of underWay) await advance(sweep);
      // What cannot be sent now is not helped by more of the same.
      if (underWay.length > 0 && (await hasUnsent(db, network.id))) return;
      let opened = false;
      for (const token of depositTokens(network)) opened = (await open(token)) || opened;
      if (!opened) return;
      for (const sweep of await listOpenSweeps(db, network.id)) {
        if (sweep.status === 'signed') await advance(sweep);
      }
    },
  };
}

async function hasUnsent(db: Queryable, chain: ChainId): Promise<boolean> {
  const { rows } = await db.query(
    'SELECT FROM sweeps WHERE chain = $1 AND finished_at IS NULL AND provider_ref IS NULL LIMIT 1',
    [chain],
  );
  return rows.length > 0;
}

/** Somebody's withdrawal waits for tokens in the treasury: then every deposit is worth fetching, and at once. */
async function isNeeded(db: Queryable, chain: ChainId, asset: string): Promise<boolean> {
  const { rows } = await db.query(
    `SELECT FROM withdrawals
      WHERE chain = $1 AND asset = $2 AND status = 'awaiting_liquidity' AND finished_at IS NULL LIMIT 1`,
    [chain, asset],
  );
  return rows.length > 0;
}
