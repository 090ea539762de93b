import { onlyRow, type Queryable, type Transaction } from '../db/database.ts';
import { lockUntilCommit } from '../db/locks.ts';
import { swapErrors } from './errors.ts';
import { priceMoved } from './explain-failure.ts';
import type { Swap } from './swap.ts';

/** So many swaps of an account may fail within 24 hours because the price moved after something was sent for them. */
const mostFailures = 3;

/** SQL: whether something was sent for the swap `w`. A swap that comes back before that loses its first step. */
const wasSent = `EXISTS (SELECT FROM chain_steps s WHERE s.saga_id = w.id AND s.step = 'fill' AND s.asked_at IS NOT NULL)`;

/** SQL: the swaps of the account $1 that failed like this, with the error $2. */
const failures = `SELECT coalesce(w.finished_at, w.status_since) AS at FROM swaps w
  WHERE w.account_id = $1 AND w.error = $2 AND w.status IN ('returning', 'failed')
    AND coalesce(w.finished_at, w.status_since) > clock_timestamp() - interval '24 hours' AND ${wasSent}`;

/**
 * A swap whose price moves comes back whole, with its fee, and the gas is ours. Whoever owns a pool can move its price: after some failures
 * no new swap of the account is accepted until the oldest of them is a day old.
 */
export async function refuseAfterFailures(tx: Queryable, accountId: bigint): Promise<void> {
  const { rows } = await tx.query<{ at: Date; seconds: number }>(
    `SELECT at + interval '24 hours' AS at,
            ceil(extract(epoch FROM at + interval '24 hours' - clock_timestamp()))::integer AS seconds
       FROM (${failures}) failed ORDER BY failed.at DESC OFFSET ${mostFailures - 1} LIMIT 1`,
    [accountId, priceMoved],
  );
  const [first] = rows;
  if (first === undefined) return;
  throw swapErrors.too_many_failed_swaps(
    `${mostFailures} of your swaps failed within 24 hours because the price moved. Try again after ${first.at.toISOString()}.`,
    { headers: { 'Retry-After': String(Math.max(1, first.seconds)) } },
  );
}

/** Nothing is to be sent for a swap yet, or not any more. */
export class NoTurn extends Error {
  override readonly name = 'NoTurn';

  readonly isOver: boolean;

  constructor({ isOver }: { readonly isOver: boolean }) {
    super('other swaps of its account to end');
    this.isOver = isOver;
  }
}

/**
 * In the commit that has the first transaction of a swap sent. Swaps that are under way may all fail, so only as many are under way as may
 * fail, and one more for each that was completed within 24 hours and has paid its fee.
 */
export async function requireTurn(tx: Transaction, { id, accountId }: Swap): Promise<void> {
  await lockUntilCommit(tx, { kind: 'swaps', of: String(accountId) });
  const { failed, under_way, completed, is_sent } = onlyRow(
    await tx.query<{ failed: number; under_way: number; completed: number; is_sent: boolean }>(
      `SELECT (SELECT count(*)::integer FROM (${failures}) f) AS failed,
              count(*) FILTER (WHERE w.id <> $3 AND w.status IN ('queued', 'preparing', 'swapping') AND ${wasSent})::integer
                AS under_way,
              count(*) FILTER (WHERE w.status = 'completed' AND w.finished_at > clock_timestamp() - interval '24 hours')::integer
                AS completed,
              coalesce(bool_or(w.id = $3 AND ${wasSent}), false) AS is_sent
         FROM swaps w WHERE w.account_id = $1`,
      [accountId, priceMoved, id],
    ),
  );
  if (is_sent) return;
  if (failed >= mostFailures) throw new NoTurn({ isOver: true });
  if (failed + under_way >= mostFailures + completed) throw new NoTurn({ isOver: false });
}
