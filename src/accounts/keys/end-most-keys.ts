import type { Database } from '../../kernel/db/database.ts';
import { recordKeysRevoked } from '../account-events.ts';
import { type AuditActor, recordAudit } from '../audit/record.ts';

/** So many are ended in one moment, for which everybody waits who pays the owner. */
const fewEnough = 5_000;

interface MostKeys {
  readonly accountId: bigint;
  readonly by: AuditActor;
  /** One that the caller needs until all of them end. */
  readonly except?: string;
}

/**
 * Ends all but the last few keys of an account that has very many, and says how many. A thief can make hundreds of thousands: in one
 * statement they would take longer than a statement may, and the takeover could not be ended. The rest, and that nothing is under
 * way any more, is for `endAllKeys`. Cut short, what has ended stays ended.
 */
export async function endMostKeys(db: Database, { accountId, by, except }: MostKeys): Promise<number> {
  const { rows } = await db.query<{ id: string }>(
    'SELECT id FROM api_keys WHERE account_id = $1 AND revoked_at IS NULL AND id IS DISTINCT FROM $2 ORDER BY id',
    [accountId, except ?? null],
  );
  let ended = 0;
  for (let first = 0; first + fewEnough < rows.length; first += fewEnough) {
    const ids = rows.slice(first, first + fewEnough).map(({ id }) => id);
    ended += await db.transaction(async (tx) => {
      const { rows: now } = await tx.query<{ id: string }>(
        'UPDATE api_keys SET revoked_at = now() WHERE id = ANY ($1) AND revoked_at IS NULL RETURNING id',
        [ids],
      );
      const keys = now.length;
      await recordAudit(tx, { accountId, action: 'keys.revoked', by, details: { keys, webhooks: [] } });
      if (keys > 0) await recordKeysRevoked(tx, accountId, { keys: now.map(({ id }) => id), all: false, by });
      return keys;
    });
  }
  return ended;
}
