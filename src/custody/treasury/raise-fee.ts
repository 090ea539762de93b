import type { Database } from '../../kernel/db/database.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import { feeLimitOf, usualFeeLimit } from '../wallets/raised-fee-limit.ts';

const mostFees = 100;

/**
 * Raises the limit of fee increases for a saga's open transactions, to `times` in all for each of them. Idempotent. The
 * ceiling on the fee itself (FEE_CEILING_GWEI) stays.
 */
export async function raiseFee(
  db: Database,
  { sagaId, times }: { readonly sagaId: string; readonly times: string | undefined },
  say: (line: string) => void,
): Promise<void> {
  const open = await listUnderWay(db, sagaId);
  if (open.length === 0) throw new Refusal(`${sagaId} has no open transaction.`);
  const limits = await Promise.all(open.map(({ ref }) => feeLimitOf(db, ref)));
  if (times === undefined) {
    const shown = open.map(({ step, tried }, place) => `${step}: fee ${tried} of ${limits[place]}`).join(', ');
    throw new Refusal(`Open transactions of ${sagaId}: ${shown}. Set with --times how many fees may be tried in all.`);
  }
  const most = /^\d{1,3}$/.test(times) ? Number(times) : 0;
  if (most <= usualFeeLimit || most > mostFees)
    throw new Refusal(`--times must be a number from ${usualFeeLimit + 1} to ${mostFees}.`);
  await db.transaction(async (tx) => {
    for (const { saga, ref, chain } of open) {
      await tx.query(
        `INSERT INTO raised_fee_limits AS l (provider_ref, most) VALUES ($1, $2)
         ON CONFLICT (provider_ref) DO UPDATE SET most = greatest(l.most, excluded.most), raised_at = clock_timestamp()`,
        [ref, most],
      );
      await wakeSaga(tx, { saga, id: sagaId, lane: chain });
    }
  });
  for (const { step, tried, ref } of open) {
    const limit = await feeLimitOf(db, ref);
    say(`${sagaId} ${step}: ${tried} fees were tried, and up to ${limit} are allowed. FEE_CEILING_GWEI still applies.`);
  }
}

interface UnderWay {
  readonly saga: string;
  readonly step: string;
  readonly chain: string;
  readonly ref: string;
  /** The number of fees that it was sent with so far. */
  readonly tried: number;
}

async function listUnderWay(db: Database, sagaId: string): Promise<readonly UnderWay[]> {
  const { rows } = await db.query<UnderWay>(
    `SELECT s.saga, s.step, s.chain, s.provider_ref AS ref,
            ((SELECT count(*) FROM key_transaction_attempts a WHERE a.transaction_id::text = s.provider_ref)
             + (SELECT count(*) FROM circle_accelerations c WHERE c.transaction_id::text = s.provider_ref))::int AS tried
       FROM chain_steps s WHERE s.saga_id = $1 AND s.settled_at IS NULL AND s.provider_ref IS NOT NULL ORDER BY s.created_at`,
    [sagaId],
  );
  return rows;
}
