import type { Database } from '../../kernel/db/database.ts';
import { recordKeysRevoked } from '../account-events.ts';
import { type AuditActor, recordAudit } from '../audit/record.ts';

/** The most keys that one statement revokes, because payments to the owner wait for it. */
const fewEnough = 5_000;

interface MostKeys {
  readonly accountId: bigint;
  readonly by: AuditActor;
  /** A key that the caller still needs. */
  readonly except?: string;
}

/**
 * Revokes all but the last few keys of an account with very many, and returns how many. A thief can create hundreds of
 * thousands; revoking them in one statement would exceed the statement timeout, and the takeover could not be ended.
 * `endAllKeys` revokes the rest. If interrupted, revoked keys stay revoked.
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
