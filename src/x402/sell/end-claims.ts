import type { Database, Transaction } from '../../kernel/db/database.ts';
import { houseAccount } from '../../ledger/account-id.ts';
import type { Posting } from '../../ledger/posting.ts';
import { amountOf } from '../../money/amount.ts';
import type { Asset } from '../../money/catalogue.ts';
import { paymentChain } from './terms.ts';

interface Unpaid {
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

/** Every change to payments locks their payers first, in one order, so that transactions cannot deadlock. */
export async function lockPayers(tx: Transaction, claimIds: readonly string[]): Promise<void> {
  await tx.query(
    `SELECT FROM payers p
      WHERE (p.chain, p.token, p.address) IN (SELECT c.chain, c.token, c.payer FROM payment_claims c WHERE c.id = ANY ($1))
      ORDER BY p.chain, p.token, p.address FOR UPDATE`,
    [claimIds],
  );
}

interface EndedRow {
  readonly id: string;
  readonly asset: Asset;
  readonly atomic: bigint;
  readonly served: boolean;
  readonly atFault: boolean;
}

/**
 * Ends payments that will never arrive. A served one is written off. The payer is in debt if the payer is to blame: the
 * nonce was `used` for something else or cancelled, or the last attempt or check found the wallet short. If the payment
 * expired because of our own delay, the loss is ours. Returns the postings, which the caller posts last.
 */
export async function endClaims(
  tx: Transaction,
  claimIds: readonly string[],
  { used }: { readonly used: readonly string[] },
): Promise<Posting[]> {
  if (claimIds.length === 0) return [];
  await lockPayers(tx, claimIds);
  const { rows } = await tx.query<EndedRow>(
    `UPDATE payment_claims SET written_off_at = CASE WHEN served_at IS NOT NULL THEN clock_timestamp() END,
        lapsed_at = CASE WHEN served_at IS NULL THEN clock_timestamp() END, leased_until = NULL
      WHERE id = ANY ($1) AND arrived_at IS NULL AND written_off_at IS NULL AND lapsed_at IS NULL
     RETURNING id, asset, atomic, served_at IS NOT NULL AS served, id = ANY ($2) OR payer_failed_at IS NOT NULL AS at_fault`,
    [claimIds, used],
  );
  const lost = rows.filter(({ served }) => served);
  await tx.query(
    `UPDATE payers p SET debt = debt + owed.atomic
       FROM (SELECT chain, token, payer, sum(atomic) AS atomic FROM payment_claims WHERE id = ANY ($1) GROUP BY 1, 2, 3) owed
      WHERE (p.chain, p.token, p.address) = (owed.chain, owed.token, owed.payer)`,
    [lost.filter(({ atFault }) => atFault).map(({ id }) => id)],
  );
  return lost.map(writeOff);
}

/** The income was never booked, so only the receivable is reversed. */
function writeOff({ id, asset, atomic }: EndedRow): Posting {
  const amount = amountOf(asset, atomic);
  return {
    type: 'call_written_off',
    amount,
    reference: `call:${id}:written_off`,
    entries: [
      { account: houseAccount('receivables', asset, paymentChain), atomic: amount.atomic },
      { account: houseAccount('calls_in_transit', asset, paymentChain), atomic: -amount.atomic },
    ],
  };
}
