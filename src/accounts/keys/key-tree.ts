import type { Clock } from '../../kernel/clock.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { accountErrors } from '../errors.ts';
import { isWorking, type KeyIdleness, workingTimes } from './key-lifetime.ts';
import { clientOfKey, isKeyFrozen, parentOfKey } from './place.ts';
import type { ListedKey } from './shown-key.ts';

/** A working key with its place in the tree. */
export interface TreeKey extends ListedKey {
  readonly place: string;
  /** The places from the root to its own. */
  readonly path: readonly string[];
  /** Not only because a key above it is. */
  readonly isFrozenItself: boolean;
  /** How many working keys are below it. */
  readonly keysBelow: number;
}

export interface KeyNode<Key> {
  readonly key: Key;
  readonly below: readonly KeyNode<Key>[];
}

interface TreeQuery extends KeyIdleness {
  readonly accountId: bigint;
  readonly clock: Clock;
}

/** As many as an account can create. Sign-ins may have added more, and then the oldest are left out. */
export const mostInTree = 1_000;

/** The working keys of an account, newest first. */
export async function listTreeKeys(db: Queryable, query: TreeQuery): Promise<TreeKey[]> {
  return readKeys(db, query, null);
}

/** Throws if the key has ended, is unknown or belongs to another account. */
export async function findTreeKey(db: Queryable, query: TreeQuery & { readonly id: string }): Promise<TreeKey> {
  const [key] = await readKeys(db, query, query.id);
  if (key === undefined) throw accountErrors.key_not_found('Your account has no working key with this id.');
  return key;
}

/** The working key that has the place of a key now: itself, or what replaced it. Undefined when there is none. */
export async function findSuccessor(
  db: Queryable,
  query: TreeQuery & { readonly id: string },
): Promise<string | undefined> {
  const { rows } = await db.query<{ id: string }>(
    `SELECT k.id FROM api_keys former JOIN api_keys k ON k.place = former.place
      WHERE former.id = $4 AND former.account_id = $1 AND ${isWorking('k', '$2', '$3')} ORDER BY k.id DESC LIMIT 1`,
    [query.accountId, ...workingTimes(query), query.id],
  );
  return rows[0]?.id;
}

async function readKeys(db: Queryable, query: TreeQuery, id: string | null): Promise<TreeKey[]> {
  const { rows } = await db.query<TreeKey>(
    `WITH working AS (
       SELECT k.* FROM api_keys k WHERE k.account_id = $1 AND ${isWorking('k', '$2', '$3')} ORDER BY k.id DESC)
     SELECT k.id, k.name, k.last4, k.scopes, k.created_at, k.last_used_at, k.last_used_from, k.expires_at, k.rotated_to, k.place, k.path,
            ${parentOfKey} AS parent, ${isKeyFrozen} AS frozen, ${clientOfKey} AS client,
            EXISTS (SELECT FROM frozen_places f WHERE f.place = k.place) AS is_frozen_itself,
            coalesce(b.count, 0) AS keys_below
       FROM working k
       LEFT JOIN (SELECT p.place, count(*)::integer AS count FROM working w CROSS JOIN LATERAL unnest(w.path) p (place)
                   WHERE p.place <> w.place GROUP BY p.place) b ON b.place = k.place
      WHERE $4::text IS NULL OR k.id = $4 ORDER BY k.id DESC LIMIT ${mostInTree}`,
    [query.accountId, ...workingTimes(query), id],
  );
  return rows;
}

/**
 * The keys as a tree. A key is below the nearest key above it that is listed, because a parent may have ended. While a rotated key
 * and its replacement both work, the keys below belong to the replacement.
 */
export function toTree<Key extends Pick<TreeKey, 'id' | 'place' | 'path'>>(keys: readonly Key[]): KeyNode<Key>[] {
  const holders = new Map<string, Key>();
  for (const key of keys) {
    const other = holders.get(key.place);
    if (other === undefined || other.id < key.id) holders.set(key.place, key);
  }
  const roots: Key[] = [];
  const below = new Map<Key, Key[]>();
  for (const key of keys) {
    const above = key.path.slice(0, -1).findLast((place) => holders.has(place));
    const parent = above === undefined ? undefined : holders.get(above);
    if (parent === undefined) roots.push(key);
    else below.set(parent, [...(below.get(parent) ?? []), key]);
  }
  const node = (key: Key): KeyNode<Key> => ({ key, below: (below.get(key) ?? []).map(node) });
  return roots.map(node);
}
