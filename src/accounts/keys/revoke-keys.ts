import type { Database, Transaction } from '../../kernel/db/database.ts';
import { lockOwner } from '../../ledger/require-live-key.ts';
import { recordKeysRevoked } from '../account-events.ts';
import { type AuditActor, recordAudit } from '../audit/record.ts';
import { accountErrors } from '../errors.ts';
import type { EndedKeys, OnKeysEnded, WebhookOfKey } from './on-keys-ended.ts';

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
 * `revokeAllKeys` revokes the rest. If interrupted, revoked keys stay revoked.
 */
export async function revokeMostKeys(db: Database, { accountId, by, except }: MostKeys): Promise<number> {
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

export interface KeyRevocation extends Omit<EndedKeys, 'keys'> {
  readonly key: string;
  readonly by: AuditActor;
}

/**
 * Revokes one key. From the commit on nothing is posted under it; wallets and funds are untouched. Revoking again is
 * allowed, so that its webhooks can still be listed or ended.
 */
export async function revokeKey(
  tx: Transaction,
  onKeysEnded: OnKeysEnded,
  { accountId, key, webhooks, by }: KeyRevocation,
): Promise<WebhookOfKey[]> {
  await lockOwner(tx, accountId);
  const { rows } = await tx.query<{ isNews: boolean }>(
    `UPDATE api_keys k SET revoked_at = coalesce(k.revoked_at, now())
       FROM api_keys before WHERE before.id = k.id AND k.id = $1 AND k.account_id = $2
     RETURNING before.revoked_at IS NULL AS is_news`,
    [key, accountId],
  );
  const [row] = rows;
  if (row === undefined) throw accountErrors.key_not_found();
  const theirs = await onKeysEnded(tx, { accountId, keys: [key], webhooks });
  if (row.isNews) await recordKeysRevoked(tx, accountId, { keys: [key], all: false, by });
  if (row.isNews || (webhooks === 'end' && theirs.length > 0)) {
    const details = { key, webhooks: webhooks === 'end' ? theirs.map(({ id }) => id) : [] };
    await recordAudit(tx, { accountId, action: 'key.revoked', by, details });
  }
  return theirs;
}

/** Revokes every key of the account. Each of its webhooks was created with one of them. */
export async function revokeAllKeys(
  tx: Transaction,
  onKeysEnded: OnKeysEnded,
  { accountId, webhooks, by }: Omit<KeyRevocation, 'key'>,
): Promise<{ readonly ended: number; readonly webhooks: WebhookOfKey[] }> {
  await lockOwner(tx, accountId);
  const { rows } = await tx.query<{ id: string }>(
    'UPDATE api_keys SET revoked_at = now() WHERE account_id = $1 AND revoked_at IS NULL RETURNING id',
    [accountId],
  );
  const theirs = await onKeysEnded(tx, { accountId, keys: 'all', webhooks });
  const ended = rows.length;
  const keys = rows.map(({ id }) => id);
  if (ended > 0) await recordKeysRevoked(tx, accountId, { keys, all: true, by });
  const details = { keys: ended, webhooks: webhooks === 'end' ? theirs.map(({ id }) => id) : [] };
  await recordAudit(tx, { accountId, action: 'keys.revoked', by, details });
  return { ended, webhooks: theirs };
}
