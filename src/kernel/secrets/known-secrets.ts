import type { Queryable } from '../db/database.ts';

export interface KnownSecret {
  readonly fingerprint: Buffer;
  readonly retiredAt: Date | null;
  readonly resealedAt: Date | null;
  readonly sealedHashKeys: Buffer | null;
}

/** Whether data may remain that only this secret can open. */
export function isBeingReplaced({ retiredAt, resealedAt }: KnownSecret): boolean {
  return retiredAt !== null && resealedAt === null;
}

/** Newest first. */
export async function listSecrets(db: Queryable): Promise<readonly KnownSecret[]> {
  const { rows } = await db.query<KnownSecret>(
    `SELECT fingerprint, retired_at AS "retiredAt", resealed_at AS "resealedAt", sealed_hash_keys AS "sealedHashKeys"
       FROM operator_secrets ORDER BY retired_at DESC NULLS FIRST`,
  );
  return rows;
}
