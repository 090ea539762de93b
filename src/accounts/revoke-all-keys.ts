import type { Transaction } from '../db/database.ts';
import { lockOwner } from '../ledger/lock-owner.ts';

/** Ends every key of an account, in the caller's commit and with nothing posted under one of them after it. Says how many there were. */
export async function revokeAllKeys(tx: Transaction, accountId: bigint): Promise<number> {
  await lockOwner(tx, accountId);
  const { rowCount } = await tx.query(
    'UPDATE api_keys SET revoked_at = now() WHERE account_id = $1 AND revoked_at IS NULL',
    [accountId],
  );
  return rowCount ?? 0;
}
