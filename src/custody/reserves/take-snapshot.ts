import { randomBytes } from 'node:crypto';
import { setImmediate as letOthersGo } from 'node:timers/promises';
import { type Database, longStatements, onlyRow } from '../../kernel/db/database.ts';
import { lockUntilCommit } from '../../kernel/db/locks.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { type BuiltTree, buildTree } from './build-tree.ts';
import { encodePlaces, type Page } from './pages.ts';
import { readClaims, type TreeClaims } from './read-claims.ts';

/** A day of hourly snapshots. */
const keptSnapshots = 24;

/**
 * Deletes the leaves of old snapshots, so that not even the operator can show them. Their roots stay, so that a saved
 * proof can always be verified. Unfinished snapshots are deleted entirely.
 */
export async function forgetOldLeaves(db: Database, kept: number = keptSnapshots): Promise<void> {
  const { rows } = await db.query<{ id: bigint }>(
    `SELECT t.id FROM reserve_trees t JOIN reserve_snapshots s ON s.id = t.snapshot_id
      WHERE t.key IS NOT NULL AND (
        (s.published_at IS NULL AND s.taken_at < now() - interval '1 hour')
        OR s.published_at IS NOT NULL AND s.id NOT IN (
          SELECT id FROM reserve_snapshots WHERE published_at IS NOT NULL ORDER BY taken_at DESC, id DESC LIMIT $1))`,
    [kept],
  );
  for (const { id } of rows) {
    await db.transaction(async (tx) => {
      await tx.query('UPDATE reserve_trees SET key = NULL WHERE id = $1', [id]);
      await tx.query('DELETE FROM reserve_owners WHERE tree_id = $1', [id]);
      await tx.query('DELETE FROM reserve_pages WHERE tree_id = $1', [id]);
    }, longStatements);
  }
  await db.query(
    `DELETE FROM reserve_snapshots s WHERE published_at IS NULL AND taken_at < now() - interval '1 hour'
        AND NOT EXISTS (SELECT FROM reserve_trees t WHERE t.snapshot_id = s.id AND t.key IS NOT NULL)`,
  );
}

/** The longest that other work waits while a tree is built. */
const sliceMs = 8;
const pagesPerWrite = 128;
const ownersPerWrite = 2_000;

/**
 * Takes a snapshot of all claims: one consistent read, then a tree per chain and asset, written page by page, and
 * published all at once. Returns the snapshot's id, or undefined when one was taken less than `minAgeMs` ago. A crash
 * leaves an unpublished snapshot, which is deleted with the old ones.
 */
export async function takeSnapshot(db: Database, { minAgeMs }: { minAgeMs: number }): Promise<string | undefined> {
  const snapshotId = await claimSnapshot(db, minAgeMs);
  if (snapshotId === undefined) return undefined;
  try {
    await buildSnapshot(db, snapshotId);
  } catch (error) {
    // Lets the next snapshot start at once.
    await db.query("UPDATE reserve_snapshots SET taken_at = 'epoch' WHERE id = $1", [snapshotId]);
    throw error;
  }
  return snapshotId;
}

async function buildSnapshot(db: Database, snapshotId: string): Promise<void> {
  const { at, trees } = await readClaims(db);
  const built: { treeId: bigint; tree: BuiltTree }[] = [];
  for (const claims of trees) built.push(await writeTree(db, { snapshotId, at: at.toISOString(), claims }));
  await db.transaction(async (tx) => {
    for (const { treeId, tree } of built) {
      await tx.query('UPDATE reserve_trees SET depth = $2, root = $3, total = $4 WHERE id = $1', [
        treeId,
        tree.depth,
        tree.root,
        tree.total,
      ]);
    }
    await tx.query('UPDATE reserve_snapshots SET taken_at = $2, published_at = now() WHERE id = $1', [snapshotId, at]);
  });
}

/** When several instances want a snapshot, one takes it. */
function claimSnapshot(db: Database, minAgeMs: number): Promise<string | undefined> {
  return db.transaction(async (tx) => {
    await lockUntilCommit(tx, 'reserveSnapshots');
    const id = newId('rsv');
    const { rowCount } = await tx.query(
      `INSERT INTO reserve_snapshots (id, taken_at) SELECT $1, now() WHERE NOT EXISTS (
         SELECT FROM reserve_snapshots WHERE taken_at > now() - make_interval(secs => $2::float8 / 1000))`,
      [id, minAgeMs],
    );
    return rowCount === 1 ? id : undefined;
  });
}

async function writeTree(
  db: Database,
  { snapshotId, at, claims: given }: { snapshotId: string; at: string; claims: TreeClaims },
): Promise<{ treeId: bigint; tree: BuiltTree }> {
  const { chain, asset, claims, house, owed, blockNumber, accountIds } = given;
  const key = randomBytes(32);
  const { id: treeId } = onlyRow(
    await db.query<{ id: bigint }>(
      `INSERT INTO reserve_trees (snapshot_id, chain, asset, owed, block_number, key) VALUES ($1, $2, $3, $4, $5, $6)
       RETURNING id`,
      [snapshotId, chain, asset, owed, blockNumber, key],
    ),
  );
  const building = buildTree({ snapshotId, at, chain, asset, claims, house, seed: randomBytes(32), key });
  const tree = await buildInSlices(building, (pages) => insertPages(db, treeId, pages));
  for (let start = 0; start < accountIds.length; start += ownersPerWrite) {
    const end = start + ownersPerWrite;
    await db.query(
      `INSERT INTO reserve_owners (tree_id, account_id, balance, places)
       SELECT $1, * FROM unnest($2::bigint[], $3::numeric[], $4::bytea[])`,
      [
        treeId,
        accountIds.slice(start, end),
        claims.slice(start, end).map(({ balance }) => balance),
        tree.places.slice(start, end).map(encodePlaces),
      ],
    );
  }
  return { treeId, tree };
}

async function buildInSlices(
  building: ReturnType<typeof buildTree>,
  write: (pages: readonly Page[]) => Promise<unknown>,
): Promise<BuiltTree> {
  let pages: Page[] = [];
  let begun = performance.now();
  for (;;) {
    const step = building.next();
    if (step.done) {
      if (pages.length > 0) await write(pages);
      return step.value;
    }
    if (step.value !== undefined) pages.push(step.value);
    if (pages.length >= pagesPerWrite) {
      await write(pages);
      pages = [];
    }
    if (performance.now() - begun > sliceMs) {
      await letOthersGo();
      begun = performance.now();
    }
  }
}

function insertPages(db: Database, treeId: bigint, pages: readonly Page[]): Promise<unknown> {
  return db.query(
    `INSERT INTO reserve_pages (tree_id, level, number, nodes)
     SELECT $1, * FROM unnest($2::smallint[], $3::integer[], $4::bytea[])`,
    [treeId, pages.map(({ level }) => level), pages.map(({ number }) => number), pages.map(({ nodes }) => nodes)],
  );
}
