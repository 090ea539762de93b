import { countToday } from '../kernel/daily-caps/count-today.ts';
import { type Database, onlyRow, type Queryable, type Transaction } from '../kernel/db/database.ts';
import type { Caller } from '../kernel/http/define-route.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import { requireLiveKey } from '../ledger/require-live-key.ts';
import { type ChangedField, recordAccountChanged } from './account-events.ts';
import { orRefuse } from './addresses/or-refuse.ts';
import { readShippingAddress } from './addresses/shipping-address.ts';
import { type AuditActor, recordAudit } from './audit/record.ts';
import { nextSteps } from './next-steps.ts';
import { tellOwner } from './tell-owner.ts';
import type { Verification } from './verification.ts';

/** What an account knows about itself. */
export interface Profile {
  readonly handle: string;
  /** Null once somebody else has proved that the mailbox is theirs. */
  readonly email: string | null;
  readonly emailVerified: boolean;
  /** An email that waits for its codes. */
  readonly pendingEmail: string | null;
  readonly name: string;
  readonly phone: string | null;
  readonly phoneVerified: boolean;
  readonly pendingPhone: string | null;
  /** How to verify what is not verified yet. */
  readonly nextSteps: string[];
  readonly tier: 'free' | 'pro' | 'enterprise';
  readonly frozen: boolean;
  readonly circleWalletId: string;
  readonly depositAddress: string;
  readonly withdrawalAddress: string | null;
  readonly shippingAddress: string | null;
  readonly createdAt: string;
}

interface ProfileRow extends Omit<Profile, 'phoneVerified' | 'nextSteps' | 'createdAt'> {
  readonly createdAt: Date;
}

export async function readProfile(db: Queryable, accountId: bigint): Promise<Profile> {
  const row = onlyRow(
    await db.query<ProfileRow>(
      `SELECT a.handle, a.email, a.email_verified_at IS NOT NULL AS "emailVerified", a.name, a.phone, a.tier,
              a.frozen_at IS NOT NULL AS frozen, a.withdrawal_address AS "withdrawalAddress",
              a.shipping_address AS "shippingAddress", a.created_at AS "createdAt",
              w.id AS "circleWalletId", w.address AS "depositAddress", c.target AS "pendingPhone",
              e.email AS "pendingEmail"
         FROM accounts a
         JOIN wallets w ON w.account_id = a.id AND w.chain = 'MATIC' AND w.retired_at IS NULL
         LEFT JOIN verification_codes c ON c.account_id = a.id AND c.kind = 'phone'
         LEFT JOIN email_changes e ON e.account_id = a.id AND e.expires_at > now() AND e.attempts_left > 0
        WHERE a.id = $1`,
      [accountId],
    ),
  );
  // Until a first number is verified, the one that waits is shown, and said to be unverified.
  return {
    ...row,
    phone: row.phone ?? row.pendingPhone,
    phoneVerified: row.phone !== null,
    nextSteps: nextSteps(row),
    createdAt: row.createdAt.toISOString(),
  };
}

/** What may be changed; null clears a field, and what is left out stays. */
export interface ProfileChange {
  readonly name?: string | undefined;
  readonly phone?: string | null | undefined;
  readonly withdrawalAddress?: string | null | undefined;
  readonly shippingAddress?: string | null | undefined;
}

interface ProfileParts {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly verification: Verification;
}

/** Whose profile is changed, and who does it. */
interface Changer {
  readonly caller: Caller;
  readonly by: AuditActor & { readonly address: string; readonly keyId: string };
}

/** What is compared to see which fields have changed. */
interface Addresses {
  readonly address: string | null;
  readonly shipping: string | null;
}

export async function updateProfile(
  { db, secrets, verification }: ProfileParts,
  { caller, by }: Changer,
  change: ProfileChange,
): Promise<Profile> {
  const { accountId } = caller;
  return db.transaction(async (tx) => {
    // An address that a revoked key has set would go on being paid.
    await requireLiveKey(tx, { accountId, keyId: by.keyId });
    const before = onlyRow(
      await tx.query<Addresses & { name: string }>(
        'SELECT name, withdrawal_address AS address, shipping_address AS shipping FROM accounts WHERE id = $1',
        [accountId],
      ),
    );
    // An address that cannot be read is refused while its owner looks at it, and not when an agent buys.
    if (change.shippingAddress) {
      orRefuse(readShippingAddress(change.shippingAddress, { name: change.name ?? before.name }));
    }
    const {
      name,
      phone: current,
      address,
      shipping,
    } = onlyRow(
      await tx.query<Addresses & { name: string; phone: string | null }>(
        `UPDATE accounts
            SET name               = coalesce($2, name),
                withdrawal_address = CASE WHEN $3 THEN $4 ELSE withdrawal_address END,
                shipping_address   = CASE WHEN $5 THEN $6 ELSE shipping_address END
          WHERE id = $1
        RETURNING name, phone, withdrawal_address AS address, shipping_address AS shipping`,
        [
          accountId,
          change.name ?? null,
          change.withdrawalAddress !== undefined,
          change.withdrawalAddress ?? null,
          change.shippingAddress !== undefined,
          change.shippingAddress ?? null,
        ],
      ),
    );
    const changed: ChangedField[] = [];
    if (name !== before.name) changed.push('name');
    if (address !== before.address) changed.push('withdrawalAddress');
    if (shipping !== before.shipping) changed.push('shippingAddress');
    await countToday(tx, caller, 'settings', addressesSet(before, { address, shipping }));
    if (address !== before.address)
      await tellOfAddress(tx, secrets, { caller, by }, { before: before.address, address });
    // Somebody else's would be sent what its owner buys. Where that is stays with the account alone.
    if (shipping !== before.shipping) await recordAudit(tx, { accountId, action: 'shipping_address.changed', by });
    if (change.phone === null) {
      await tx.query('UPDATE accounts SET phone = NULL WHERE id = $1', [accountId]);
      await tx.query("DELETE FROM verification_codes WHERE account_id = $1 AND kind = 'phone'", [accountId]);
      if (current !== null) {
        changed.push('phone');
        await recordAudit(tx, { accountId, action: 'phone.removed', by });
      }
    } else if (change.phone !== undefined && change.phone !== current) {
      // Whether it is somebody's is told to whoever proves that it is theirs, and to nobody before.
      await verification.begin(tx, { accountId, kind: 'phone', target: change.phone, by });
    }
    await recordAccountChanged(tx, accountId, { fields: changed, by });
    return readProfile(tx, accountId);
  });
}

/** How many addresses are other ones now. Clearing one is not counted: a thief who has used up the cap must not keep the owner from it. */
function addressesSet(before: Addresses, after: Addresses): number {
  return [
    after.address !== null && after.address !== before.address,
    after.shipping !== null && after.shipping !== before.shipping,
  ].filter(Boolean).length;
}

/** Where money goes that names no address: whoever changes it for somebody else would be paid in their place. */
async function tellOfAddress(
  tx: Transaction,
  secrets: Secrets,
  { caller: { accountId }, by }: Changer,
  { before, address }: { readonly before: string | null; readonly address: string | null },
): Promise<void> {
  const details = { from: before, to: address };
  await recordAudit(tx, { accountId, action: 'withdrawal_address.default_changed', by, details });
  await tellOwner(tx, secrets, accountId, {
    subject: 'Your withdrawal address was changed',
    text: `Withdrawals that name no address went to ${before ?? 'no address'} until now. From now on they go to ${address ?? 'no address'}.`,
  });
}
