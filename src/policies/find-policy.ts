import { accountErrors } from '../accounts/errors.ts';
import type { Queryable } from '../kernel/db/database.ts';
import { policyErrors } from './errors.ts';
import type { Policy } from './policy.ts';

/** The place of a key in the tree, and its policy. */
export interface PolicyPlace {
  readonly place: string;
  /** From the root to the place itself. */
  readonly path: readonly string[];
  /** Of the calling key. Null for the owner, who is above all keys. */
  readonly callerPlace: string | null;
  readonly policy: Policy | null;
  readonly version: string | null;
}

/** Who reads or changes a policy: a key, or without one the owner. */
interface Reader {
  readonly accountId: bigint;
  readonly keyId?: string;
}

/** A revoked key names its place as long as a rotation has left another key there. */
export async function findPlace(db: Queryable, { accountId, keyId }: Reader, id: string): Promise<PolicyPlace> {
  const { rows } = await db.query<PolicyPlace>(
    `SELECT k.place, k.path, c.place AS caller_place, kp.policy, kp.version
       FROM api_keys k LEFT JOIN api_keys c ON c.id = $3 LEFT JOIN key_policies kp ON kp.place = k.place
      WHERE k.id = $1 AND k.account_id = $2 AND (c.id IS NOT NULL OR $3::text IS NULL)
        AND EXISTS (SELECT FROM api_keys o WHERE o.place = k.place AND o.revoked_at IS NULL)`,
    [id, accountId, keyId ?? null],
  );
  const [row] = rows;
  if (row === undefined) throw accountErrors.key_not_found();
  return row;
}

/** The key itself and the keys above it. */
function requireReader({ path, callerPlace }: PolicyPlace): void {
  if (callerPlace !== null && !path.includes(callerPlace)) throw accountErrors.not_an_ancestor(readersOnly);
}

const readersOnly = 'Only a key itself and the keys above it can read its policy.';

/** Only the keys above it, and the owner. */
export function requireAncestor({ place, path, callerPlace }: PolicyPlace): void {
  if (callerPlace === null) return;
  if (path.length === 1) {
    throw accountErrors.not_an_ancestor(
      'This key is the root of its tree: no key is above it, so no key can change its policy. Set it on the page /app/keys, or create a key below it and set the policy of that one.',
    );
  }
  if (place === callerPlace) {
    throw accountErrors.not_an_ancestor('A key cannot change its own policy. Use a key above it in the tree.');
  }
  if (!path.includes(callerPlace)) throw accountErrors.not_an_ancestor();
}

export interface FoundPolicy {
  readonly policy: Policy;
  readonly version: string;
}

export async function findPolicy(db: Queryable, reader: Reader, id: string): Promise<FoundPolicy> {
  const found = await findPlace(db, reader, id);
  requireReader(found);
  const { policy, version } = found;
  if (policy === null || version === null) throw policyErrors.policy_not_found();
  return { policy, version };
}
