import type { Queryable, ReadDatabase } from '../../kernel/db/database.ts';
import { amountOf, toDecimalText } from '../../money/amount.ts';
import { type Asset, assetIds, type ChainId, chainIds } from '../../money/catalogue.ts';
import { createBranchReader, decodePlaces, type Page, pagesOnBranch } from './pages.ts';
import { createLeafSecrets } from './tree-hash.ts';

/** A leaf with everything its owner needs to verify it. Amounts and sums are decimal text, bytes are hex. */
export interface OpenLeaf {
  readonly index: number;
  readonly amount: string;
  readonly nonce: string;
  readonly ownerSalt: string;
  /** The sibling at each step, from the leaf up. */
  readonly branch: { readonly hash: string; readonly sum: string; readonly side: 'left' | 'right' }[];
}

interface LeavesToOpen {
  readonly asset: Asset;
  readonly depth: number;
  readonly key: Buffer;
  /** The account's handle. */
  readonly owner: string;
  readonly places: Iterable<number>;
  /** At least the pages on the branches of these places. */
  readonly pages: readonly Page[];
}

export function openLeaves({ asset, depth, key, owner, places, pages }: LeavesToOpen): OpenLeaf[] {
  const secrets = createLeafSecrets(key);
  const ownerSalt = secrets.salt(owner).toString('hex');
  const reader = createBranchReader(pages, depth);
  const text = (atomic: bigint) => toDecimalText(amountOf(asset, atomic));
  return Array.from(places, (place) => ({
    index: place,
    amount: text(reader.leaf(place).sum),
    nonce: secrets.nonces(place, 1).toString('hex'),
    ownerSalt,
    branch: reader.branch(place).map(({ hash, sum, side }) => ({ hash: hash.toString('hex'), sum: text(sum), side })),
  }));
}

export interface PublishedProof {
  readonly snapshotId: string;
  readonly at: string;
  readonly roots: PublishedRoot[];
}

interface PublishedRoot {
  readonly chain: ChainId;
  readonly asset: Asset;
  readonly root: string;
  readonly total: string;
}

export interface Snapshot {
  readonly id: string;
  readonly takenAt: Date;
  readonly ageMs: number;
}

/** The newest snapshot, or the one with this id. */
export async function findSnapshot(db: Queryable, id?: string): Promise<Snapshot | undefined> {
  const { rows } = await db.query<Snapshot>(
    `SELECT id, taken_at, extract(epoch FROM now() - taken_at)::float8 * 1000 AS age_ms FROM reserve_snapshots
      WHERE published_at IS NOT NULL AND ($1::text IS NULL OR id = $1) ORDER BY taken_at DESC, id DESC LIMIT 1`,
    [id ?? null],
  );
  return rows[0];
}

/** A newer release shows the trees of chains and assets that only it knows. */
export async function readRoots(db: Queryable, { id, takenAt }: Snapshot): Promise<PublishedProof> {
  const { rows } = await db.query<{ chain: ChainId; asset: Asset; root: Buffer; total: bigint }>(
    `SELECT chain, asset, root, total FROM reserve_trees
      WHERE snapshot_id = $1 AND chain = ANY ($2) AND asset = ANY ($3) ORDER BY chain, asset`,
    [id, chainIds, assetIds],
  );
  return {
    snapshotId: id,
    at: takenAt.toISOString(),
    roots: rows.map(({ chain, asset, root, total }) => ({
      chain,
      asset,
      root: root.toString('hex'),
      total: toDecimalText(amountOf(asset, total)),
    })),
  };
}

/** Proof that an account's balance is part of a tree's total. */
interface BalanceProof {
  readonly chain: ChainId;
  readonly asset: Asset;
  readonly balance: string;
  readonly root: string;
  readonly total: string;
  readonly leaves: OpenLeaf[];
}

export interface AccountProof {
  readonly snapshotId: string;
  readonly at: string;
  readonly owner: string;
  readonly proofs: BalanceProof[];
}

export interface ProofRequest {
  readonly accountId: bigint;
  readonly handle: string;
  readonly chain?: ChainId | undefined;
  readonly asset?: Asset | undefined;
}

/** Undefined when the snapshot's leaves are deleted. */
export function readProof(
  db: ReadDatabase,
  { id, takenAt }: Snapshot,
  request: ProofRequest,
): Promise<AccountProof | undefined> {
  // At one moment, so that no leaf is deleted while it is read.
  return db.atOneMoment(async (tx) => {
    const { accountId, handle, chain, asset } = request;
    const { rows: gone } = await tx.query('SELECT FROM reserve_trees WHERE snapshot_id = $1 AND key IS NULL LIMIT 1', [
      id,
    ]);
    if (gone.length > 0) return undefined;
    const { rows } = await tx.query<OwnerRow>(
      `SELECT t.id, t.chain, t.asset, t.depth, t.root, t.total, t.key, o.balance, o.places
         FROM reserve_trees t JOIN reserve_owners o ON o.tree_id = t.id AND o.account_id = $2
        WHERE t.snapshot_id = $1 AND t.chain = ANY ($3) AND t.asset = ANY ($4) ORDER BY t.chain, t.asset`,
      [id, accountId, chain === undefined ? chainIds : [chain], asset === undefined ? assetIds : [asset]],
    );
    const proofs: BalanceProof[] = [];
    for (const row of rows) proofs.push(await openBalance(tx, row, handle));
    return { snapshotId: id, at: takenAt.toISOString(), owner: handle, proofs };
  });
}

interface OwnerRow {
  readonly id: bigint;
  readonly chain: ChainId;
  readonly asset: Asset;
  readonly depth: number;
  readonly root: Buffer;
  readonly total: bigint;
  readonly key: Buffer;
  readonly balance: bigint;
  readonly places: Buffer;
}

async function openBalance(tx: Queryable, row: OwnerRow, owner: string): Promise<BalanceProof> {
  const { id, chain, asset, depth, root, total, key, balance } = row;
  const places = decodePlaces(row.places);
  const names = places.flatMap((place) => pagesOnBranch(place, depth));
  const { rows: pages } = await tx.query<Page>(
    `SELECT level, number, nodes FROM reserve_pages JOIN (
       SELECT DISTINCT * FROM unnest($2::smallint[], $3::integer[]) n (level, number)) n USING (level, number)
      WHERE tree_id = $1`,
    [id, names.map(({ level }) => level), names.map(({ number }) => number)],
  );
  const text = (atomic: bigint) => toDecimalText(amountOf(asset, atomic));
  return {
    chain,
    asset,
    balance: text(balance),
    root: root.toString('hex'),
    total: text(total),
    leaves: openLeaves({ asset, depth, key, owner, places, pages }),
  };
}
