import { randomUUID } from 'node:crypto';
import { z } from 'zod';
import type { Database } from '../../../kernel/db/database.ts';
import type { Logger } from '../../../kernel/log/logger.ts';
import { ProviderError } from '../../wallets/provider.ts';
import { feeLimitOf } from '../../wallets/raised-fee-limit.ts';
import type { CircleClient } from './circle-client.ts';

export interface AccelerateParts {
  readonly db: Database;
  readonly circle: CircleClient;
  readonly logger: Logger;
  /** How long a higher fee may take effect before it is raised again. */
  readonly patienceMs: number;
}

/** Asks Circle to raise the fee of a stuck transaction. Concurrent callers share one request. */
export async function accelerate({ db, circle, logger, patienceMs }: AccelerateParts, id: string): Promise<void> {
  const request = await nextRequest(db, id, patienceMs);
  if (request === undefined) return;
  const { round, idempotencyKey } = request;
  try {
    await circle.write(z.unknown(), (sdk) => sdk.accelerateTransaction({ id, idempotencyKey }));
    logger.info({ transactionId: id, round }, 'the fee of a stuck transaction was raised');
  } catch (error) {
    if (!(error instanceof ProviderError)) throw error;
    logger.warn({ transactionId: id, round, err: error }, 'raising the fee of a stuck transaction failed');
    // The next look-up sends the same request again.
    if (error.retryable) return;
  }
  await db.query('UPDATE circle_accelerations SET answered_at = now() WHERE transaction_id = $1 AND round = $2', [
    id,
    round,
  ]);
}

interface Acceleration {
  readonly round: number;
  readonly idempotencyKey: string;
}

/** The unanswered request, or a new one when the last one is old enough. */
async function nextRequest(db: Database, id: string, patienceMs: number): Promise<Acceleration | undefined> {
  await db.query(
    `INSERT INTO circle_accelerations (transaction_id, round, idempotency_key)
     SELECT $1, coalesce(max(round), 0) + 1, $2 FROM circle_accelerations WHERE transaction_id = $1
     HAVING coalesce(bool_and(answered_at IS NOT NULL AND asked_at <= now() - make_interval(secs => $3)), true)
        AND count(*) < $4
     ON CONFLICT DO NOTHING`,
    [id, randomUUID(), patienceMs / 1000, await feeLimitOf(db, id)],
  );
  const { rows } = await db.query<Acceleration>(
    `SELECT round, idempotency_key FROM circle_accelerations
      WHERE transaction_id = $1 AND answered_at IS NULL ORDER BY round DESC LIMIT 1`,
    [id],
  );
  return rows[0];
}
