import type { Clock } from '../../kernel/clock.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { homeOfPayments } from './terms.ts';

export interface OverdueOptions {
  readonly db: Queryable;
  readonly clock: Clock;
  /** So long after it was served, or was to be looked at again, the transaction of a payment should have been sent. */
  readonly afterSeconds: number;
}

/** For so long what was found is believed. */
const keepMs = 1_000;

/** What was sent should have arrived after so long. */
const arrivesWithinSeconds = 600;

/**
 * Answers whether we are late with settling what was served, because a worker is down or the wallet that settles has no gas. What a payer
 * does not pay does not count: a stranger could stop all credit with it.
 */
export function watchOverdue({ db, clock, afterSeconds }: OverdueOptions): () => Promise<boolean> {
  let known: { readonly isOverdue: Promise<boolean>; readonly until: number } | undefined;

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

  return () => {
    if (known === undefined || known.until <= clock.now()) {
      const isOverdue = look();
      known = { isOverdue, until: clock.now() + keepMs };
      isOverdue.catch(() => {
        known = undefined;
      });
    }
    return known.isOverdue;
  };
}
