import type { Database } from '../../kernel/db/database.ts';
import { lockPayers } from './end-claims.ts';

/** A retry with the same payment can take the claim over for this long. */
const abandonedSeconds = 60;

/** Deletes claims that a crashed process left and no retry took over. Nothing was charged for them. */
export async function forgetAbandoned(db: Database): Promise<void> {
  const { rows } = await db.query<{ id: string }>(
    `SELECT id FROM payment_claims
      WHERE leased_until < clock_timestamp() - make_interval(secs => $1) AND served_at IS NULL AND arrived_at IS NULL
        AND NOT prepaid LIMIT 500`,
    [abandonedSeconds],
  );
  for (const { id } of rows) {
    await db.transaction(async (tx) => {
      await lockPayers(tx, [id]);
      await tx.query(
        `DELETE FROM payment_claims WHERE id = $1 AND served_at IS NULL AND arrived_at IS NULL
            AND leased_until < clock_timestamp() - make_interval(secs => $2)`,
        [id, abandonedSeconds],
      );
    });
  }
}

/** Answers are kept only for retries; the record of the payment does not need them. */
export async function forgetAnswers(db: Database): Promise<void> {
  await db.query(
    `UPDATE payment_claims SET answer = NULL WHERE id IN (
       SELECT id FROM payment_claims WHERE answer IS NOT NULL AND served_at < clock_timestamp() - interval '2 days'
        ORDER BY served_at LIMIT 10000)`,
  );
}
