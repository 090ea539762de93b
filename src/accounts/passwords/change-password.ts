import { networksOf } from '../../kernel/http/client-address.ts';
import type { RateLimitDecision, RateLimiter } from '../../kernel/rate-limit/limiter.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { lockOwner } from '../../ledger/lock-owner.ts';
import { requireLiveKey } from '../../ledger/require-live-key.ts';
import type { AccountChanges } from '../account-changes.ts';
import type { AuditActor } from '../audit/record.ts';
import { accountErrors } from '../errors.ts';
import { endMostKeys } from '../keys/end-most-keys.ts';
import type { OnKeysEnded } from '../keys/on-keys-ended.ts';
import { isTooCommon } from './common-passwords.ts';
import type { Passwords } from './passwords.ts';
import { type PasswordGuard, requirePassword, requireSamePassword } from './require-password.ts';
import { type PasswordSet, setPassword } from './set-password.ts';

export interface PasswordChange {
  readonly accountId: bigint;
  readonly currentPassword: string;
  readonly newPassword: string;
  readonly revokeKeys: boolean;
  readonly endWebhooks: boolean;
  readonly by: AuditActor & { readonly address: string; readonly keyId: string };
}

/**
 * A change voids the mailed reset token. Without this limit, a thief who knows the password could keep changing it and
 * void each token before the owner uses it. Setting a password with a token is not counted.
 */
const changesPerDay = { limit: 3, windowMs: 24 * 60 * 60_000 };

export interface ChangePasswordParts extends PasswordGuard {
  readonly limiter: RateLimiter;
  readonly secrets: Secrets;
  readonly passwords: Passwords;
  readonly changes: AccountChanges;
  readonly onKeysEnded: OnKeysEnded;
}

/** Requires the current password, because a key alone may be stolen. */
export async function changePassword(
  parts: ChangePasswordParts,
  { accountId, currentPassword, newPassword, revokeKeys, endWebhooks, by }: PasswordChange,
): Promise<PasswordSet> {
  const { db, limiter, passwords, changes } = parts;
  const account = await requirePassword(parts, { accountId, password: currentPassword, by });
  if (isTooCommon(newPassword, account)) throw accountErrors.password_too_common();
  const turn = await limiter.take(`password-changes:${accountId}`, changesPerDay);
  if (!turn.allowed) throw changedTooOften(turn);
  const passwordHash = await passwords.hash(newPassword, networksOf(by.address).nearest);
  const endedBefore = revokeKeys ? await endMostKeys(db, { accountId, by, except: by.keyId }) : 0;
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
