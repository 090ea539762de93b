import { onlyRow, type Transaction } from '../../kernel/db/database.ts';
import { networksOf } from '../../kernel/http/client-address.ts';
import type { RateLimitDecision } from '../../kernel/rate-limit/limiter.ts';
import { lockOwner, requireLiveKey } from '../../ledger/require-live-key.ts';
import { recordAccountChanged } from '../account-events.ts';
import { type AuditActor, type KeyHolder, recordAudit } from '../audit/record.ts';
import { accountErrors } from '../errors.ts';
import type { WebhookOfKey } from '../keys/on-keys-ended.ts';
import { revokeAllKeys, revokeMostKeys } from '../keys/revoke-keys.ts';
import { mailOwner } from '../mail-owner.ts';
import type { AccountParts } from '../parts.ts';
import { isTooCommon } from './common-passwords.ts';
import { requirePassword, requireSamePassword } from './require-password.ts';

interface NewPassword {
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
  readonly webhooks: WebhookOfKey[];
}

/**
 * Sets a new password in the caller's transaction, which ends all sessions on the pages, and voids any reset token. A claim token stays valid: otherwise an
 * account with someone else's mailbox could keep it by changing the password.
 */
export async function setPassword(
  tx: Transaction,
  { secrets, onKeysEnded }: AccountParts,
  { accountId, passwordHash, action, by, revokeKeys, endWebhooks }: NewPassword,
): Promise<PasswordSet> {
  await tx.query('UPDATE accounts SET password_hash = $2 WHERE id = $1', [accountId, passwordHash]);
  await tx.query("DELETE FROM password_resets WHERE account_id = $1 AND kind = 'reset'", [accountId]);
  // A pending email change was requested with the old password.
  await tx.query('DELETE FROM email_changes WHERE account_id = $1', [accountId]);
  const { ended: revokedKeys, webhooks } = revokeKeys
    ? await revokeAllKeys(tx, onKeysEnded, { accountId, webhooks: endWebhooks ? 'end' : 'keep', by })
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
  await mailOwner(tx, secrets, accountId, {
    subject: 'Your Paywright password was changed',
    text:
      action === 'password.changed'
        ? 'The password of your Paywright account was changed.'
        : 'A new password was set for your Paywright account, with a reset token.',
  });
  return { revokedKeys, keysLeft: left, webhooks };
}

interface PasswordChange extends Pick<NewPassword, 'accountId' | 'revokeKeys' | 'endWebhooks'> {
  readonly currentPassword: string;
  readonly newPassword: string;
  readonly by: KeyHolder;
}

/**
 * A change voids the mailed reset token. Without this limit, a thief who knows the password could keep changing it and
 * void each token before the owner uses it. Setting a password with a token is not counted.
 */
const changesPerDay = { limit: 3, windowMs: 24 * 60 * 60_000 };

/** Requires the current password, because a key alone may be stolen. */
export async function changePassword(
  parts: AccountParts,
  { accountId, currentPassword, newPassword, revokeKeys, endWebhooks, by }: PasswordChange,
): Promise<PasswordSet> {
  const { db, limiter, passwords, changes } = parts;
  const account = await requirePassword(parts, { accountId, password: currentPassword, by });
  if (isTooCommon(newPassword, account)) throw accountErrors.password_too_common();
  const turn = await limiter.take(`password-changes:${accountId}`, changesPerDay);
  if (!turn.allowed) throw changedTooOften(turn);
  const passwordHash = await passwords.hash(newPassword, networksOf(by.address).nearest);
  const endedBefore = revokeKeys ? await revokeMostKeys(db, { accountId, by, except: by.keyId }) : 0;
  const set = await changes.everywhere(accountId, async (tx) => {
    // Locked first, in the same order as a freeze.
    if (revokeKeys) await lockOwner(tx, accountId);
    await requireLiveKey(tx, { accountId, keyId: by.keyId });
    await requireSamePassword(tx, accountId, account.hash);
    return setPassword(tx, parts, { accountId, passwordHash, action: 'password.changed', by, revokeKeys, endWebhooks });
  });
  return { ...set, revokedKeys: endedBefore + set.revokedKeys };
}

function changedTooOften({ resetMs }: RateLimitDecision) {
  const { limit } = changesPerDay;
  return accountErrors.too_many_attempts(
    `The password was already changed ${limit} times within a day. Try again later, or reset it by email with POST /account/password/reset.`,
    { headers: { 'Retry-After': String(Math.max(1, Math.ceil(resetMs / 1000))) } },
  );
}
