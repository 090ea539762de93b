import type { Hex } from 'viem';
import type { ChainId } from '../chains/chains.ts';
import type { Network } from '../chains/network.ts';
import type { Queryable } from '../db/database.ts';
import { startLoop } from '../jobs/loop.ts';
import { backOffMs, createTrouble, type Trouble } from '../jobs/trouble.ts';
import { ProviderError } from '../wallets/provider.ts';
import { advanceSweep } from './advance-sweep.ts';
import { type DepositToken, depositTokens } from './deposit-tokens.ts';
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
  const unable = new Map<Hex, number>();
  const openedAt = new Map<string, number>();

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

  async function open(token: DepositToken): Promise<void> {
    const needed = await isNeeded(db, network.id, token.asset);
    const now = performance.now();
    const last = openedAt.get(token.asset);
    if (!needed && last !== undefined && now < last + gatherMs) return;
    for (const [address, untilMs] of unable) if (untilMs < now) unable.delete(address);
    const opened = await openSweep(options, network, token, {
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
    if (opened) openedAt.set(token.asset, now);
  }

  return {
    async step() {
      for (const sweep of await listOpenSweeps(db, network.id)) await advance(sweep);
      const unsent = (await listOpenSweeps(db, network.id)).some(({ providerRef }) => providerRef === null);
      // What cannot be sent now is not helped by more of the same.
      if (unsent) return;
      for (const token of depositTokens(network)) await open(token);
      for (const sweep of await listOpenSweeps(db, network.id)) {
        if (sweep.status === 'signed') await advance(sweep);
      }
    },
  };
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
