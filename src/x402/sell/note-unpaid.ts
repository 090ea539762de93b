import type { Database, Transaction } from '../../kernel/db/database.ts';
import { lockPayers } from './end-claims.ts';

export interface Unpaid {
  /** The settlement that releases it; null when it is in none. */
  readonly settlementId: string | null;
  readonly againInSeconds: number;
  /** Set when the payer is to blame. */
  readonly because?: 'wallet_is_short' | 'transaction_did_not_move_it';
}

/** Schedules another check. A payer who was served and has not paid is served nothing meanwhile. */
export async function noteUnpaid(db: Database, claimIds: readonly string[], unpaid: Unpaid): Promise<void> {
  if (claimIds.length > 0) await db.transaction((tx) => noteUnpaidWithin(tx, claimIds, unpaid));
}

/** Runs inside the caller's transaction. */
export async function noteUnpaidWithin(
  tx: Transaction,
  claimIds: readonly string[],
  { settlementId, againInSeconds, because }: Unpaid,
): Promise<void> {
  if (claimIds.length === 0) return;
  await lockPayers(tx, claimIds);
  const { rows } = await tx.query<{ id: string; served: boolean }>(
    `UPDATE payment_claims SET settlement_id = NULL, retry_at = clock_timestamp() + make_interval(secs => $2),
        payer_failed_at = CASE WHEN $3 THEN coalesce(payer_failed_at, clock_timestamp()) ELSE payer_failed_at END,
        failed_tries = failed_tries + CASE WHEN $4 THEN 1 ELSE 0 END
      WHERE id = ANY ($1) AND settlement_id IS NOT DISTINCT FROM $5 AND arrived_at IS NULL AND written_off_at IS NULL
        AND lapsed_at IS NULL
     RETURNING id, served_at IS NOT NULL AS served`,
    [claimIds, againInSeconds, because !== undefined, because === 'transaction_did_not_move_it', settlementId],
  );
  if (because === undefined) return;
  await tx.query(
    `UPDATE payers p SET failed_since = coalesce(failed_since, clock_timestamp())
      WHERE (p.chain, p.token, p.address) IN (SELECT c.chain, c.token, c.payer FROM payment_claims c WHERE c.id = ANY ($1))`,
    [rows.filter(({ served }) => served).map(({ id }) => id)],
  );
}
