import type { Transaction } from '../kernel/db/database.ts';
import { httpErrors } from '../kernel/http/errors.ts';

interface OwnedKey {
  readonly accountId: bigint;
  readonly keyId: string;
}

/**
 * Locks the owner's row, so that no key is revoked until the commit, and tells whether this key is still valid.
 * Everything that outlasts a key (another key, a webhook) is created behind this: otherwise a request in progress
 * during the revocation could still create it.
 */
async function holdLiveKey(tx: Transaction, { accountId, keyId }: OwnedKey): Promise<boolean> {
  await tx.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
  const { rowCount } = await tx.query(
    `SELECT FROM api_keys
      WHERE id = $1 AND account_id = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp())`,
    [keyId, accountId],
  );
  return rowCount === 1;
}

/**
 * Refuses a request whose key was revoked or expired meanwhile, and keeps the key from being revoked until the commit.
 */
export async function requireLiveKey(tx: Transaction, key: OwnedKey): Promise<void> {
  if (await holdLiveKey(tx, key)) return;
  throw httpErrors.unauthorized(undefined, { headers: { 'WWW-Authenticate': 'Bearer' } });
}

/**
 * Waits for this owner's postings in progress and keeps out new ones until the commit. Revoking a key and freezing an
 * account begin with it, so every posting is either committed before or sees the change.
 */
export async function lockOwner(tx: Transaction, accountId: bigint): Promise<void> {
  await tx.query('SELECT ledger.lock_owner($1)', [accountId]);
}
