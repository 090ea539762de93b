import type { ChainId } from '../chains/chains.ts';
import type { Queryable } from '../db/database.ts';
import type { Asset } from '../money/asset.ts';
import { type Claim, claimsOfSettlement } from './claim.ts';

/** Payments that are submitted together. */
export interface Settlement {
  readonly id: string;
  readonly chain: ChainId;
  readonly asset: Asset;
  readonly status: 'submitting' | 'complete' | 'failed';
  readonly claims: readonly Claim[];
}

/** Its one step on a chain. */
export function submitStep(settlementId: string) {
  return { sagaId: settlementId, step: 'submit' } as const;
}

export async function findSettlement(db: Queryable, id: string): Promise<Settlement | undefined> {
  const { rows } = await db.query<Omit<Settlement, 'claims'>>(
    'SELECT id, chain, asset, status FROM settlements WHERE id = $1',
    [id],
  );
  return rows[0] && { ...rows[0], claims: await claimsOfSettlement(db, id) };
}
