import type { Caller } from '../http/define-route.ts';
import { lockOwner } from '../ledger/lock-owner.ts';
import type { AccountChanges } from './account-changes.ts';

/** Ends the key that calls. When this returns no instance accepts it any more and nothing is posted under it; wallets and funds are untouched. */
export async function revokeKey(changes: AccountChanges, { accountId, keyId }: Caller): Promise<void> {
  await changes.everywhere(accountId, async (tx) => {
    await lockOwner(tx, accountId);
    await tx.query('UPDATE api_keys SET revoked_at = now() WHERE id = $1 AND revoked_at IS NULL', [keyId]);
  });
}
