import type { Queryable } from '../../kernel/db/database.ts';
import type { Scope } from '../../kernel/http/define-route.ts';
import { accountErrors } from '../errors.ts';

/** A key and its place in the tree of its account's keys. A rotation keeps the place, so two keys share it for a while. */
export interface PlacedKey {
  readonly id: string;
  readonly name: string | null;
  readonly last4: string;
  readonly scopes: readonly Scope[];
  readonly expiresAt: Date | null;
  readonly place: string;
  /** The places from the root to its own. */
  readonly path: readonly string[];
  /** Whether this key or a key above it is frozen. */
  readonly isFrozen: boolean;
  /** Whether this key or a key above it has a policy. */
  readonly isLimited: boolean;
}

/** SQL for the key `k`: the newest unrevoked key of the place above. Null for a root. */
export const parentOfKey = `(SELECT max(p.id) FROM api_keys p
  WHERE p.place = k.path[cardinality(k.path) - 1] AND p.revoked_at IS NULL)`;

/** SQL for the key `k`: where the connected client answers that holds it. Null for a key with a secret. */
export const clientOfKey = '(SELECT g.client_host FROM oauth_grants g WHERE g.key_id = k.id)';

/** SQL for the key `k`. */
export const isKeyFrozen = 'EXISTS (SELECT FROM frozen_places f WHERE f.place = ANY (k.path))';

export const placedKeyColumns = `k.id, k.name, k.last4, k.scopes, k.expires_at, k.place, k.path, ${isKeyFrozen} AS is_frozen,
  EXISTS (SELECT FROM key_policies p WHERE p.place = ANY (k.path)) AS is_limited`;

interface OwnedKey {
  readonly accountId: bigint;
  readonly keyId: string;
}

/** Finds revoked and expired keys too. */
export async function readPlace(db: Queryable, { accountId, keyId }: OwnedKey): Promise<PlacedKey> {
  const { rows } = await db.query<PlacedKey>(
    `SELECT ${placedKeyColumns} FROM api_keys k WHERE k.id = $1 AND k.account_id = $2`,
    [keyId, accountId],
  );
  const [key] = rows;
  if (key === undefined) throw accountErrors.key_not_found();
  return key;
}

/** Returns the calling key, and throws if it is frozen. Exact once the owner's row is locked. */
export async function requireUnfrozen(db: Queryable, caller: OwnedKey): Promise<PlacedKey> {
  const key = await readPlace(db, caller);
  if (key.isFrozen) throw accountErrors.key_frozen();
  return key;
}

type Place = Pick<PlacedKey, 'place' | 'path'>;

export function isAbove(upper: Place, lower: Place): boolean {
  return upper.place !== lower.place && lower.path.includes(upper.place);
}

export function isRoot({ path }: Place): boolean {
  return path.length === 1;
}

/** A root comes from a sign-in with the password. One that the owner has limited speaks for itself alone. */
export function speaksForOwner(key: Place & Pick<PlacedKey, 'isLimited'>): boolean {
  return isRoot(key) && !key.isLimited;
}
