import type { Hex } from 'viem';
import type { Network, Networks } from '../../chains/network.ts';
import type { Database, Queryable } from '../../kernel/db/database.ts';
import { describeError } from '../../kernel/jobs/error-reporter.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { type ChainId, chains } from '../../money/catalogue.ts';

/** The RPC serves another chain than the configured one. */
export class WrongChain extends Error {
  override readonly name = 'WrongChain';
}

export async function checkChain({ id, client }: Network): Promise<void> {
  const { chainId } = chains[id];
  const answered = await client.getChainId();
  if (answered !== chainId) {
    throw new WrongChain(`the RPC for ${id} serves chain ${answered} instead of ${chainId}; check RPC_URLS_${id}`);
  }
}

/** The newest block, and the newest final one. */
export interface ChainHead {
  readonly head: bigint;
  readonly confirmed: bigint;
}

export async function readHead({ client, confirmations }: Network): Promise<ChainHead> {
  const head = await client.getBlockNumber({ cacheTime: 0 });
  const confirmed = head - BigInt(confirmations) + 1n;
  return { head, confirmed: confirmed < 0n ? 0n : confirmed };
}

/** The first reading of a chain starts with what is confirmed from now on, or with the configured block. */
export async function beginChain(db: Database, network: Network, startBlock?: bigint): Promise<void> {
  const last = startBlock === undefined ? (await readHead(network)).confirmed : startBlock - 1n;
  const { number, hash } = await network.client.getBlock({ blockNumber: last < 0n ? 0n : last });
  await insertCursor(db, network.id, { number, hash });
}

/**
 * At start-up, before any address is given out: records on every chain where reading begins, so that no later transfer
 * is missed, even if the chain becomes unreachable. Chains that have a cursor are not asked.
 */
export async function beginChains(
  db: Database,
  networks: Networks,
  startBlocks?: ReadonlyMap<ChainId, bigint>,
): Promise<void> {
  for (const network of networks.values()) {
    if ((await findCursor(db, network.id)) !== undefined) continue;
    try {
      await checkChain(network);
      await beginChain(db, network, startBlocks?.get(network.id));
    } catch (error) {
      throw new Refusal(
        `${chains[network.id].name} cannot be reached, and its first block must be recorded before the service starts: ${describeError(error)}.`,
        { cause: error },
      );
    }
  }
}

/** The last block that was read. Everything up to it is credited. */
export interface ChainCursor {
  readonly number: bigint;
  readonly hash: Hex;
}

/** A process's lease on a chain: only this process reads the chain and moves the cursor until the lease expires. */
export interface Hold {
  readonly chain: ChainId;
  readonly holder: string;
  readonly leaseMs: number;
}

/** Blocks remembered per chain, to find where a reorg began. */
const keptCheckpoints = 500;

export async function findCursor(db: Queryable, chain: ChainId): Promise<ChainCursor | undefined> {
  const { rows } = await db.query<ChainCursor>(
    'SELECT block_number AS number, block_hash AS hash FROM chain_cursors WHERE chain = $1',
    [chain],
  );
  return rows[0];
}

type Held = ReadonlyMap<ChainId, ChainCursor>;

/** Takes or renews leases, and returns the cursors of the chains that are held now. */
async function holdChains(
  db: Queryable,
  /** Free or expired leases may be taken. */
  chains: readonly ChainId[],
  { holder, leaseMs }: Omit<Hold, 'chain'>,
  /** Chains whose leases are only renewed, while they are still valid. */
  others: readonly ChainId[],
): Promise<Held> {
  // Locked in one order, so that two processes that take over the same chains cannot deadlock.
  const { rows } = await db.query<ChainCursor & { readonly chain: ChainId }>(
    `UPDATE chain_cursors
        SET leased_by = $2, leased_until = now() + make_interval(secs => $3::float8 / 1000), read_at = now()
      WHERE chain IN (
        SELECT chain FROM chain_cursors
         WHERE (chain = ANY ($1) AND (leased_by IS NULL OR leased_by = $2 OR leased_until < now()))
            OR (chain = ANY ($4) AND leased_by = $2 AND leased_until >= now())
         ORDER BY chain FOR NO KEY UPDATE)
      RETURNING chain, block_number AS number, block_hash AS hash`,
    [chains, holder, leaseMs, others],
  );
  return new Map(rows.map(({ chain: held, number, hash }) => [held, { number, hash }]));
}

/**
 * The leases of one process. One statement at a time takes or renews them: those of all readers that wait for it, and
 * those of other chains that have answered since their last renewal.
 */
export interface ChainHolds {
  /** Takes or renews the lease of a chain that has just answered. */
  take(chain: ChainId): Promise<ChainCursor | undefined>;
  /** The chain has answered, so the next renewal may include it. */
  noteAnswer(chain: ChainId): void;
  /** Until when the lease is valid, in the time of `performance.now()`. */
  untilMs(chain: ChainId): number;
  /** The cursor was moved, which renews its lease. */
  renewed(chain: ChainId, untilMs: number): void;
  lost(chain: ChainId): void;
}

export function createChainHolds(db: Queryable, { holder, leaseMs }: Omit<Hold, 'chain'>): ChainHolds {
  const until = new Map<ChainId, number>();
  const answered = new Set<ChainId>();
  /** Chains of the statement that comes next, and of the one under way. */
  let wanted = new Set<ChainId>();
  let included = new Set<ChainId>();
  let next: Promise<Held> | undefined;
  let underWay: Promise<Held> | undefined;

  async function renewNext(): Promise<Held> {
    // Readers that come meanwhile join. A failure is reported by the readers of that statement.
    await underWay?.catch(() => {});
    underWay = next;
    next = undefined;
    const now = performance.now();
    const chains = [...wanted];
    const others = [...answered].filter((other) => !wanted.has(other) && (until.get(other) ?? 0) > now);
    included = new Set([...chains, ...others]);
    wanted = new Set();
    answered.clear();
    try {
      const held = await holdChains(db, chains, { holder, leaseMs }, others);
      for (const chain of held.keys()) until.set(chain, now + leaseMs);
      for (const chain of chains) if (!held.has(chain)) until.delete(chain);
      return held;
    } finally {
      included.clear();
    }
  }

  return {
    async take(chain) {
      const found = included.has(chain) ? (await underWay?.catch(() => undefined))?.get(chain) : undefined;
      if (found !== undefined) return found;
      wanted.add(chain);
      next ??= renewNext();
      return (await next).get(chain);
    },
    noteAnswer: (chain) => void answered.add(chain),
    untilMs: (chain) => until.get(chain) ?? 0,
    renewed: (chain, untilMs) => void until.set(chain, untilMs),
    lost: (chain) => void until.delete(chain),
  };
}

/** Spares the next process waiting for the lease to expire. */
export async function releaseChain(db: Queryable, { chain, holder }: Hold): Promise<void> {
  await db.query('UPDATE chain_cursors SET leased_by = NULL, leased_until = NULL WHERE chain = $1 AND leased_by = $2', [
    chain,
    holder,
  ]);
}

/** The first reading of a chain begins after this block. When processes start together, the first insert wins. */
async function insertCursor(db: Database, chain: ChainId, { number, hash }: ChainCursor): Promise<void> {
  await db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      'INSERT INTO chain_cursors (chain, block_number, block_hash) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING',
      [chain, number, hash],
    );
    if (rowCount === 1) {
      await tx.query('INSERT INTO chain_checkpoints (chain, block_number, block_hash) VALUES ($1, $2, $3)', [
        chain,
        number,
        hash,
      ]);
    }
  });
}

/**
 * Moves the cursor, forward or back. False when the lease is lost or the cursor has moved: its new holder continues
 * from there.
 */
export async function moveCursor(
  db: Database,
  { chain, holder, leaseMs }: Hold,
  { from, to }: { readonly from: ChainCursor; readonly to: ChainCursor },
): Promise<boolean> {
  return db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      `UPDATE chain_cursors SET block_number = $4, block_hash = $5, read_at = now(),
          leased_until = now() + make_interval(secs => $6::float8 / 1000)
        WHERE chain = $1 AND leased_by = $2 AND block_number = $3`,
      [chain, holder, from.number, to.number, to.hash, leaseMs],
    );
    if (rowCount !== 1) return false;
    await tx.query('DELETE FROM chain_checkpoints WHERE chain = $1 AND block_number >= $2', [chain, to.number]);
    await tx.query('INSERT INTO chain_checkpoints (chain, block_number, block_hash) VALUES ($1, $2, $3)', [
      chain,
      to.number,
      to.hash,
    ]);
    // The oldest checkpoint stays, because it shows where reading began.
    await tx.query(
      `DELETE FROM chain_checkpoints WHERE chain = $1 AND block_number <= (
         SELECT block_number FROM chain_checkpoints WHERE chain = $1 ORDER BY block_number DESC OFFSET $2 LIMIT 1)
          AND block_number > (SELECT min(block_number) FROM chain_checkpoints WHERE chain = $1)`,
      [chain, keptCheckpoints],
    );
    return true;
  });
}

/** Newest first. */
export async function listCheckpoints(db: Queryable, chain: ChainId): Promise<readonly ChainCursor[]> {
  const { rows } = await db.query<ChainCursor>(
    'SELECT block_number AS number, block_hash AS hash FROM chain_checkpoints WHERE chain = $1 ORDER BY number DESC LIMIT $2',
    [chain, keptCheckpoints],
  );
  return rows;
}

/** The first block that was read. Earlier transfers are not credited. */
export async function firstBlockRead(db: Queryable, chain: ChainId): Promise<bigint | undefined> {
  const { rows } = await db.query<{ first: bigint | null }>(
    'SELECT min(block_number) + 1 AS first FROM chain_checkpoints WHERE chain = $1',
    [chain],
  );
  return rows[0]?.first ?? undefined;
}
