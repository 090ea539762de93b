import type { Clock } from '../../kernel/clock.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import type { Scope } from '../../kernel/http/define-route.ts';
import type { KeyIdleness, KeyTimes } from './key-lifetime.ts';

export interface ListedKey extends KeyTimes {
  readonly id: string;
  readonly name: string;
  readonly last4: string;
  readonly scopes: Scope[];
  readonly createdAt: Date;
  readonly lastUsedFrom: string | null;
  readonly rotatedTo: string | null;
}

export interface KeyQuery extends KeyIdleness {
  readonly accountId: bigint;
  readonly clock: Clock;
  readonly limit: number;
  readonly cursor?: string | undefined;
}

/** Working keys, newest first, and one more than the page holds. */
export async function listLiveKeys(
  db: Queryable,
  { accountId, clock, idleMs, limit, cursor }: KeyQuery,
): Promise<ListedKey[]> {
  const now = clock.now();
  const { rows } = await db.query<ListedKey>(
    `SELECT id, name, last4, scopes, created_at, last_used_at,
            last_used_from, expires_at, rotated_to
       FROM api_keys
      WHERE account_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)
        AND ($3::timestamptz IS NULL OR greatest(created_at, last_used_at) > $3)
        AND ($4::text IS NULL OR id < $4)
      ORDER BY id DESC LIMIT $5`,
    [accountId, new Date(now), Number.isFinite(idleMs) ? new Date(now - idleMs) : null, cursor ?? null, limit + 1],
  );
  return rows;
}
