import type { AuditActor } from '../audit/record.ts';
import { recordAudit } from '../audit/record.ts';
import { onlyRow, type Transaction } from '../db/database.ts';
import type { Secrets } from '../secrets.ts';
import { revokeAllKeys } from './revoke-all-keys.ts';
import { tellOwner } from './tell-owner.ts';

export interface NewPassword {
  readonly accountId: bigint;
  readonly passwordHash: string;
  /** What happened: it was changed by somebody who knew the old one, or set with a token. */
  readonly action: 'password.changed' | 'password.reset';
  readonly by: AuditActor;
  readonly revokeKeys: boolean;
}

export interface PasswordSet {
  readonly revokedKeys: number;
  readonly keysLeft: number;
}

/** Writes a new password, in the caller's commit. Whatever token was out to set another one is worth nothing any more. */
export async function setPassword(
  tx: Transaction,
  secrets: Secrets,
  { accountId, passwordHash, action, by, revokeKeys }: NewPassword,
): Promise<PasswordSet> {
  await tx.query('UPDATE accounts SET password_hash = $2 WHERE id = $1', [accountId, passwordHash]);
  await tx.query('DELETE FROM password_resets WHERE account_id = $1', [accountId]);
  const revokedKeys = revokeKeys ? await revokeAllKeys(tx, accountId) : 0;
  const { left } = onlyRow(
    await tx.query<{ left: number }>(
      'SELECT count(*)::integer AS left FROM api_keys WHERE account_id = $1 AND revoked_at IS NULL',
      [accountId],
    ),
  );
  await recordAudit(tx, { accountId, action, by, details: { revokedKeys } });
  await tellOwner(tx, secrets, accountId, {
    subject: 'Your Paywright password was changed',
    text:
      action === 'password.changed'
        ? 'The password of your Paywright account was changed.'
        : 'A new password was set for your Paywright account, with a token that was asked for.',
  });
  return { revokedKeys, keysLeft: left };
}
