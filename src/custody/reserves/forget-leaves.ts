import { type Database, longStatements } from '../../kernel/db/database.ts';

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
