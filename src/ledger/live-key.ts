import type { Transaction } from '../kernel/db/database.ts';

export interface OwnedKey {
  readonly accountId: bigint;
  readonly keyId: string;
}

/**
 * Locks the owner's row, so that no key is revoked until the commit, and tells whether this key is still valid.
 * Everything that outlasts a key (another key, a webhook) is created behind this: otherwise a request in progress
 * during the revocation could still create it.
 */
export async function holdLiveKey(tx: Transaction, { accountId, keyId }: OwnedKey): Promise<boolean> {
  await tx.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [accountId]);
  const { rowCount } = await tx.query(
    `SELECT FROM api_keys
      WHERE id = $1 AND account_id = $2 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > clock_timestamp())`,
    [keyId, accountId],
  );
  return rowCount === 1;
}
