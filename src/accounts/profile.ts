import { z } from 'zod';
import { countToday } from '../kernel/daily-caps/count-today.ts';
import { onlyRow, type Queryable, type Transaction } from '../kernel/db/database.ts';
import type { Caller } from '../kernel/http/define-route.ts';
import { limitOfTier } from '../kernel/http/rate-limits.ts';
import type { RateLimits } from '../kernel/rate-limit/rate-limits.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import { requireLiveKey } from '../ledger/require-live-key.ts';
import { type ChangedField, recordAccountChanged } from './account-events.ts';
import { readShippingAddress, requireAddress } from './addresses/shipping-address.ts';
import { type AuditActor, type KeyHolder, recordAudit } from './audit/record.ts';
import * as field from './fields.ts';
import { requireUnfrozen } from './keys/place.ts';
import { mailOwner } from './mail-owner.ts';
import type { AccountParts } from './parts.ts';

export const tier = z.enum(['free', 'pro', 'enterprise'], { error: 'must be free, pro or enterprise' });

/** Returns false when the account already has this tier. */
export async function setTier(
  tx: Transaction,
  accountId: bigint,
  wanted: Caller['tier'],
  by: AuditActor,
): Promise<boolean> {
  const change = 'UPDATE accounts SET tier = $2 WHERE id = $1 AND tier <> $2';
  if ((await tx.query(change, [accountId, wanted])).rowCount === 0) return false;
  await recordAudit(tx, { accountId, action: 'tier.changed', by, details: { tier: wanted } });
  await recordAccountChanged(tx, accountId, { fields: ['tier'], by });
  return true;
}

export function describeLimit(limits: RateLimits, of: Caller['tier']): string {
  const limit = limitOfTier(limits, of);
  return limit === 0 ? 'unlimited' : `${limit} requests per minute`;
}

interface Unproved {
  /** Null when the account has no email. */
  readonly email: string | null;
  readonly emailVerified: boolean;
  readonly pendingPhone?: string | null;
}

/** Says how to verify what is still unverified, in sentences for agents and people. Empty when everything is verified. */
export function nextSteps({ email, emailVerified, pendingPhone = null }: Unproved): string[] {
  const steps: string[] = [];
  if (email !== null && !emailVerified) {
    steps.push(
      `Verify your email: send the 6-digit code from our mail to ${email} to POST /account/email/verify, as {"code": "123456"}. If no mail arrived or the code has expired, POST /account/email/code sends a new one. Until you verify it, others can find your account by handle but not by this email.`,
    );
  }
  if (pendingPhone !== null) {
    steps.push(
      `Verify your phone number: send the 6-digit code from our SMS to ${pendingPhone} to POST /account/phone/verify, as {"code": "123456"}. POST /account/phone/code sends a new one. Until you verify it, others cannot find your account by this number.`,
    );
  }
  return steps;
}

export const profile = z.object({
  handle: z.string(),
  email: z.string().nullable().meta({
    description: 'Null if you never verified it and someone else has since proved that they own the mailbox.',
  }),
  emailVerified: z.boolean().meta({ description: 'Others can find this account by email only once it is verified.' }),
  pendingEmail: z.string().nullable().meta({ description: 'A new email that is not confirmed yet.' }),
  name: z.string(),
  phone: z.string().nullable().meta({ description: 'In E.164 format.' }),
  phoneVerified: z
    .boolean()
    .meta({ description: 'Others can find this account by phone number only once it is verified.' }),
  pendingPhone: z.string().nullable().meta({ description: 'A new phone number that is not verified yet.' }),
  nextSteps: field.nextSteps,
  tier,
  frozen: z.boolean().meta({ description: 'A frozen account can receive but not send.' }),
  circleWalletId: z.string(),
  depositAddress: z.string(),
  withdrawalAddress: z.string().nullable(),
  shippingAddress: z.string().nullable().meta({ description: 'As you entered it.' }),
  duplicateGuard: z.boolean().meta({
    description: 'Every payment that repeats one of the last ten minutes is refused with `possible_duplicate`.',
  }),
  createdAt: z.iso.datetime(),
});

type Profile = z.output<typeof profile>;

type ProfileRow = Omit<Profile, 'phoneVerified' | 'nextSteps' | 'createdAt'> & { readonly createdAt: Date };

export async function readProfile(db: Queryable, accountId: bigint): Promise<Profile> {
  const row = onlyRow(
    await db.query<ProfileRow>(
      `SELECT a.handle, a.email, a.email_verified_at IS NOT NULL AS email_verified, a.name, a.phone, a.tier,
              a.frozen_at IS NOT NULL AS frozen, a.withdrawal_address,
              a.shipping_address, a.duplicate_guard, a.created_at,
              w.id AS circle_wallet_id, w.address AS deposit_address, c.target AS pending_phone,
              e.email AS pending_email
         FROM accounts a
         JOIN wallets w ON w.account_id = a.id AND w.chain = 'MATIC' AND w.retired_at IS NULL
         LEFT JOIN verification_codes c ON c.account_id = a.id AND c.kind = 'phone'
         LEFT JOIN email_changes e ON e.account_id = a.id AND e.expires_at > now() AND e.attempts_left > 0
        WHERE a.id = $1`,
      [accountId],
    ),
  );
  // Until a first number is verified, the pending one is shown as unverified.
  return {
    ...row,
    phone: row.phone ?? row.pendingPhone,
    phoneVerified: row.phone !== null,
    nextSteps: nextSteps(row),
    createdAt: row.createdAt.toISOString(),
  };
}

/** Null clears a field; an omitted field stays. */
export const profileChange = z.strictObject({
  name: field.name.optional(),
  phone: field.phone.nullable().optional(),
  withdrawalAddress: field.withdrawalAddress.nullable().optional(),
  shippingAddress: field.shippingAddress.nullable().optional(),
  duplicateGuard: z.boolean().optional(),
});

interface Changer {
  readonly caller: Caller;
  readonly by: KeyHolder;
}

interface Addresses {
  readonly address: string | null;
  readonly shipping: string | null;
}

export async function updateProfile(
  { db, changes, secrets, verification }: AccountParts,
  { caller, by }: Changer,
  change: z.output<typeof profileChange>,
): Promise<Profile> {
  const { accountId } = caller;
  const work = async (tx: Transaction) => {
    // An address set by a revoked key would keep receiving payments.
    await requireLiveKey(tx, { accountId, keyId: by.keyId });
    await requireUnfrozen(tx, { accountId, keyId: by.keyId });
    const before = onlyRow(
      await tx.query<Addresses & { name: string }>(
        'SELECT name, withdrawal_address AS address, shipping_address AS shipping FROM accounts WHERE id = $1',
        [accountId],
      ),
    );
    // An unreadable address is refused while its owner is present, instead of later when an agent buys.
    const { withdrawalAddress: withdrawal, shippingAddress } = change;
    if (shippingAddress) requireAddress(readShippingAddress(shippingAddress, { name: change.name ?? before.name }));
    const after = onlyRow(
      await tx.query<Addresses & { name: string; phone: string | null }>(
        `UPDATE accounts
            SET name               = coalesce($2, name),
                withdrawal_address = CASE WHEN $3 THEN $4 ELSE withdrawal_address END,
                shipping_address   = CASE WHEN $5 THEN $6 ELSE shipping_address END
          WHERE id = $1
        RETURNING name, phone, withdrawal_address AS address, shipping_address AS shipping`,
        [accountId, change.name, withdrawal !== undefined, withdrawal, shippingAddress !== undefined, shippingAddress],
      ),
    );
    const { name, phone: current, address, shipping } = after;
    const changed: ChangedField[] = [];
    if (name !== before.name) changed.push('name');
    if (address !== before.address) changed.push('withdrawalAddress');
    if (shipping !== before.shipping) changed.push('shippingAddress');
    await countToday(tx, caller, 'settings', addressesSet(before, after));
    if (address !== before.address)
      await tellOfAddress(tx, secrets, { caller, by }, { before: before.address, address });
    // A thief's address would receive the owner's purchases. The audit log does not contain the address itself.
    if (shipping !== before.shipping) await recordAudit(tx, { accountId, action: 'shipping_address.changed', by });
    if (change.phone === null) {
      await tx.query('UPDATE accounts SET phone = NULL WHERE id = $1', [accountId]);
      await tx.query("DELETE FROM verification_codes WHERE account_id = $1 AND kind = 'phone'", [accountId]);
      if (current !== null) {
        changed.push('phone');
        await recordAudit(tx, { accountId, action: 'phone.removed', by });
      }
    } else if (change.phone !== undefined && change.phone !== current) {
      // Whether another account has the number is revealed only to the person who proves to own it.
      await verification.begin(tx, { accountId, kind: 'phone', target: change.phone, by });
    }
    if (await setDuplicateGuard(tx, { accountId, by }, change.duplicateGuard)) changed.push('duplicateGuard');
    await recordAccountChanged(tx, accountId, { fields: changed, by });
    return readProfile(tx, accountId);
  };
  // Every instance knows the guard with the caller.
  return change.duplicateGuard === undefined ? db.transaction(work) : changes.everywhere(accountId, work);
}

/** Returns false when nothing changes. */
async function setDuplicateGuard(
  tx: Transaction,
  { accountId, by }: { readonly accountId: bigint; readonly by: KeyHolder },
  wanted: boolean | undefined,
): Promise<boolean> {
  if (wanted === undefined) return false;
  const change = 'UPDATE accounts SET duplicate_guard = $2 WHERE id = $1 AND duplicate_guard <> $2';
  if ((await tx.query(change, [accountId, wanted])).rowCount === 0) return false;
  await recordAudit(tx, { accountId, action: wanted ? 'duplicate_guard.on' : 'duplicate_guard.off', by });
  return true;
}

/**
 * How many addresses were set. Clearing one is not counted, so a thief who used up the cap cannot keep the owner from
 * clearing it.
 */
function addressesSet(before: Addresses, after: Addresses): number {
  return [
    after.address !== null && after.address !== before.address,
    after.shipping !== null && after.shipping !== before.shipping,
  ].filter(Boolean).length;
}

/** Records and mails a change of the default withdrawal address, because a thief could redirect withdrawals with it. */
async function tellOfAddress(
  tx: Transaction,
  secrets: Secrets,
  { caller: { accountId }, by }: Changer,
  { before, address }: { readonly before: string | null; readonly address: string | null },
): Promise<void> {
  const details = { from: before, to: address };
  await recordAudit(tx, { accountId, action: 'withdrawal_address.default_changed', by, details });
  await mailOwner(tx, secrets, accountId, {
    subject: 'Your withdrawal address was changed',
    text: `Until now, withdrawals without an address went to ${before ?? 'no address'}. From now on they go to ${address ?? 'no address'}.`,
  });
}
