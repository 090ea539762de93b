import type { Database } from '../../kernel/db/database.ts';

/** Whoever comes back with the same payment takes it over. After this long it is as if it had never been sent. */
const abandonedSeconds = 60;

/** Lets go of what was claimed and never served: its process is gone, and nobody has come back. Nothing was charged for it. */
export async function forgetAbandoned(db: Database): Promise<void> {
  const { rows } = await db.query<{ id: string }>(
    `SELECT id FROM payment_claims
      WHERE leased_until < clock_timestamp() - make_interval(secs => $1) AND served_at IS NULL AND arrived_at IS NULL
        AND NOT prepaid LIMIT 500`,
    [abandonedSeconds],
  );
  for (const { id } of rows) {
    await db.transaction(async (tx) => {
      await tx.query(
        `SELECT FROM payers p JOIN payment_claims c ON (c.chain, c.token, c.payer) = (p.chain, p.token, p.address)
          WHERE c.id = $1 FOR UPDATE OF p`,
        [id],
      );
      await tx.query(
        `DELETE FROM payment_claims WHERE id = $1 AND served_at IS NULL AND arrived_at IS NULL
            AND leased_until < clock_timestamp() - make_interval(secs => $2)`,
        [id, abandonedSeconds],
      );
    });
  }
}

/** Answers are kept for whoever has lost theirs, and not for ever: what was paid for is known without them. */
export async function forgetAnswers(db: Database): Promise<void> {
  await db.query(
    `UPDATE payment_claims SET answer = NULL WHERE id IN (
       SELECT id FROM payment_claims WHERE answer IS NOT NULL AND served_at < clock_timestamp() - interval '2 days'
        ORDER BY served_at LIMIT 10000)`,
  );
}
