import { countToday } from '../../kernel/daily-caps/count-today.ts';
import { onlyRow, type Transaction } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { lockOwner, requireLiveKey } from '../../ledger/require-live-key.ts';
import { recordAudit } from '../audit/record.ts';
import { accountErrors } from '../errors.ts';
import { mailOwner } from '../mail-owner.ts';
import type { AccountParts } from '../parts.ts';
import { endOfKey } from './key-lifetime.ts';
import { issueKey, requireScopes } from './make-key.ts';
import { isAbove, isRoot, type PlacedKey, requireUnfrozen, speaksForOwner } from './place.ts';
import { revokeKey } from './revoke-keys.ts';
import type { IssuedKey, ListedKey } from './shown-key.ts';
import { renewStamp } from './stamp.ts';

interface KeyRotation {
  readonly caller: Caller;
  readonly ip: string;
  readonly key: string;
  readonly overlapSeconds: number;
}

/**
 * Replaces a key by one with the same name, scopes, expiry and place. The old key works until the overlap ends. The
 * caller may rotate itself and any key that it could have created: below it, with no more scopes and no later expiry than
 * its own. The account's row is locked first, so the second of two concurrent rotations finds the key already rotated.
 */
export async function rotateKey(tx: Transaction, parts: AccountParts, rotation: KeyRotation) {
  const { secrets, clock, onKeyRotated } = parts;
  const { caller, ip, overlapSeconds } = rotation;
  const { accountId, keyId } = caller;
  const by = { keyId, address: ip };
  // Records of payments name the keys that are there.
  await lockOwner(tx, accountId);
  await requireLiveKey(tx, caller);
  const rotator = await requireUnfrozen(tx, caller);
  const old = await readKey(tx, accountId, rotation.key);
  refuseEnded(old, parts);
  const life = lifeWithin(rotator, old);

  await countToday(tx, caller, 'keys');
  const key = await issueKey(tx, secrets, {
    accountId,
    name: old.name ?? 'Unnamed',
    scopes: old.scopes,
    expiresAt: life,
    rotatedFrom: old,
  });
  const from = [old.id, ...(old.rotatedTo === null ? [] : [old.rotatedTo])];
  await onKeyRotated(tx, { accountId, from, to: key.id });
  await renewStamp(tx, accountId);
  const oldEndsAt = await endAfterOverlap(tx, old.id, key.id, new Date(clock.now() + overlapSeconds * 1_000));
  const details = { key: old.id, to: key.id, endsAt: oldEndsAt.toISOString() };
  await recordAudit(tx, { accountId, action: 'key.rotated', by, details });
  if (overlapSeconds === 0) await revokeKey(tx, parts, { accountId, key: old.id, webhooks: 'keep', by });
  if (old.scopes.includes('withdraw')) await mailOwner(tx, secrets, accountId, rotatedNotice(key, old, ip));
  return { key, oldEndsAt };
}

interface OldKey
  extends Omit<ListedKey, 'lastUsedFrom' | 'parent' | 'frozen' | 'client'>,
    Pick<PlacedKey, 'place' | 'path'> {
  readonly revoked: boolean;
  readonly hasSecret: boolean;
  /** The successor was revoked unused: its secret may never have reached the owner. */
  readonly successorGivenUp: boolean;
  readonly successorExpiresAt: Date | null;
}

async function readKey(tx: Transaction, accountId: bigint, id: string): Promise<OldKey> {
  const { rows } = await tx.query<OldKey>(
    `SELECT k.id, k.name, k.last4, k.scopes, k.revoked_at IS NOT NULL AS revoked, k.key_hash IS NOT NULL AS has_secret, k.expires_at,
            k.last_used_at, k.created_at, k.rotated_to, k.place, k.path,
            s.revoked_at IS NOT NULL AND s.last_used_at IS NULL AS successor_given_up, s.expires_at AS successor_expires_at
       FROM api_keys k LEFT JOIN api_keys s ON s.id = k.rotated_to WHERE k.id = $1 AND k.account_id = $2`,
    [id, accountId],
  );
  const [row] = rows;
  if (row === undefined) throw accountErrors.key_not_found();
  return row;
}

function refuseEnded(old: OldKey, { clock, idleMs }: AccountParts): void {
  if (old.revoked || endOfKey(old, { idleMs }) <= clock.now()) throw accountErrors.key_ended();
  if (!old.hasSecret) throw accountErrors.key_has_no_secret();
  if (old.rotatedTo === null || old.successorGivenUp) return;
  throw accountErrors.key_already_rotated(
    `${old.rotatedTo} has replaced this key. Rotate that key instead. If you never received it, revoke it (DELETE /account/keys/${old.rotatedTo}) and rotate this one again.`,
  );
}

/**
 * The expiry of the new key: that of the old one before any rotation shortened it. Throws when another key calls and
 * has fewer scopes, is not above it, or ends earlier. Whoever rotates a key holds its place, so a key that could rotate its
 * parent would escape its own policy. Roots without a policy may rotate other roots.
 */
function lifeWithin(caller: PlacedKey, old: OldKey): Date | null {
  const life = old.rotatedTo === null ? old.expiresAt : old.successorExpiresAt;
  if (old.id === caller.id) return life;
  requireScopes(caller, old.scopes);
  const isWithinReach = caller.place === old.place || isAbove(caller, old) || (speaksForOwner(caller) && isRoot(old));
  if (!isWithinReach) throw accountErrors.not_an_ancestor('A key can only rotate itself and the keys below it.');
  if (caller.expiresAt !== null && (life === null || life > caller.expiresAt)) {
    throw accountErrors.key_outlives_maker(
      `The calling key expires at ${caller.expiresAt.toISOString()} and can only rotate keys that expire no later.`,
    );
  }
  return life;
}

/** Never extends a key that ends earlier anyway. */
async function endAfterOverlap(tx: Transaction, id: string, rotatedTo: string, overlapEnd: Date): Promise<Date> {
  const { endsAt } = onlyRow(
    await tx.query<{ endsAt: Date }>(
      `UPDATE api_keys SET rotated_to = $2, expires_at = least(expires_at, $3) WHERE id = $1
       RETURNING expires_at AS ends_at`,
      [id, rotatedTo, overlapEnd],
    ),
  );
  return endsAt;
}

function rotatedNotice({ name, last4 }: IssuedKey, old: OldKey, ip: string) {
  return {
    subject: 'An API key that can withdraw from your account was replaced',
    text: `A request from ${ip} replaced the API key "${name}", which ended in ${old.last4}, by a new one that ends in ${last4}. The key can withdraw money.`,
  };
}
