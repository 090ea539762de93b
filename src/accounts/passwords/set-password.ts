import { onlyRow, type Transaction } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { recordAccountChanged } from '../account-events.ts';
import { type AuditActor, recordAudit } from '../audit/record.ts';
import { endAllKeys } from '../keys/end-keys.ts';
import type { OnKeysEnded, WebhookOfKey } from '../keys/on-keys-ended.ts';
import { tellOwner } from '../tell-owner.ts';

export interface NewPassword {
  readonly accountId: bigint;
  readonly passwordHash: string;
  /** Changed with the old password, or set with a token. */
  readonly action: 'password.changed' | 'password.reset';
  readonly by: AuditActor;
  readonly revokeKeys: boolean;
  /** Whether the webhooks of these keys end too. */
  readonly endWebhooks: boolean;
}

export interface PasswordSet {
  readonly revokedKeys: number;
  readonly keysLeft: number;
  /** The webhooks of the revoked keys. */
  readonly webhooks: WebhookOfKey[];
}

/**
 * Sets a new password in the caller's transaction and voids any reset token. A claim token stays valid: otherwise an
 * account with somebody else's mailbox could keep it by changing the password.
 */
export async function setPassword(
  tx: Transaction,
  { secrets, onKeysEnded }: { readonly secrets: Secrets; readonly onKeysEnded: OnKeysEnded },
  { accountId, passwordHash, action, by, revokeKeys, endWebhooks }: NewPassword,
): Promise<PasswordSet> {
  await tx.query('UPDATE accounts SET password_hash = $2 WHERE id = $1', [accountId, passwordHash]);
  await tx.query("DELETE FROM password_resets WHERE account_id = $1 AND kind = 'reset'", [accountId]);
  // A pending email change was requested with the old password.
  await tx.query('DELETE FROM email_changes WHERE account_id = $1', [accountId]);
  const webhooksOfKeys = endWebhooks ? ('end' as const) : ('keep' as const);
  const { ended: revokedKeys, webhooks } = revokeKeys
    ? await endAllKeys(tx, onKeysEnded, { accountId, webhooks: webhooksOfKeys, by })
    : { ended: 0, webhooks: [] };
  const { left } = onlyRow(
    await tx.query<{ left: number }>(
      `SELECT count(*)::integer AS left FROM api_keys
        WHERE account_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`,
      [accountId],
    ),
  );
  await recordAudit(tx, { accountId, action, by, details: { revokedKeys } });
  await recordAccountChanged(tx, accountId, { fields: ['password'], by });
  await tellOwner(tx, secrets, accountId, {
    subject: 'Your Paywright password was changed',
    text:
      action === 'password.changed'
        ? 'The password of your Paywright account was changed.'
        : 'A new password was set for your Paywright account, with a reset token.',
  });
  return { revokedKeys, keysLeft: left, webhooks };
}
