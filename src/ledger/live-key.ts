import type { Transaction } from '../kernel/db/database.ts';

/** A key, and whose it is. */
export interface OwnedKey {
  readonly accountId: bigint;
  readonly keyId: string;
}

/**
 * Keeps the keys of this owner from being revoked until the commit, and says whether this one still lives. Whatever outlasts a key
 * (another key, a webhook) is made behind this: otherwise a request that was under way when it was revoked would make it after all.
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
