import type { Clock } from '../../kernel/clock.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { homeOfPayments } from './terms.ts';
import { remember } from './till.ts';

export interface OverdueOptions {
  readonly db: Queryable;
  readonly clock: Clock;
  /** How long after it was served or scheduled for a retry a payment's transaction should have been sent. */
  readonly afterSeconds: number;
}

/** Cache time. */
const keepMs = 1_000;

/** How long a sent transaction may take to arrive. */
const arrivesWithinSeconds = 600;

/**
 * Whether our settling is late, because no worker runs or the settlement wallet has no gas. Payments that fail because
 * of the payer do not count; otherwise a stranger could stop all credit.
 */
export function watchOverdue({ db, clock, afterSeconds }: OverdueOptions): () => Promise<boolean> {
  async function look(): Promise<boolean> {
    const { rows } = await db.query(
      `SELECT FROM payment_claims c LEFT JOIN chain_steps s ON s.saga_id = c.settlement_id AND s.step = 'submit'
        WHERE c.chain = $1 AND c.asset = 'USDC' AND c.served_at IS NOT NULL AND c.earned_at IS NULL AND c.written_off_at IS NULL
          AND c.arrived_at IS NULL AND c.payer_failed_at IS NULL AND NOT c.submitted_elsewhere
          AND greatest(c.served_at, c.retry_at) < clock_timestamp() - make_interval(secs =>
            $2 + CASE WHEN s.provider_ref IS NULL THEN 0 ELSE $3 END)
        LIMIT 1`,
      [homeOfPayments, afterSeconds, arrivesWithinSeconds],
    );
    return rows.length > 0;
  }

  return remember(look, { clock, keepMs });
}
