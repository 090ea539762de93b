import type { Queryable } from '../../kernel/db/database.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';
import { type Claim, claimsOfSettlement } from './claim.ts';

/** Payments that are submitted in one transaction. */
export interface Settlement {
  readonly id: string;
  readonly chain: ChainId;
  readonly asset: Asset;
  readonly status: 'submitting' | 'complete' | 'failed';
  readonly claims: readonly Claim[];
  /** The provider has not taken its transaction for a while. */
  readonly isStuck: boolean;
}

/** After this long without being taken, the wallet probably cannot send. */
const stuckSeconds = 30;

export function submitStep(settlementId: string) {
  return { sagaId: settlementId, step: 'submit' } as const;
}

export async function findSettlement(db: Queryable, id: string): Promise<Settlement | undefined> {
  const { rows } = await db.query<Omit<Settlement, 'claims'>>(
    `SELECT id, chain, asset, status, EXISTS (${stuck} AND s.id = settlements.id) AS is_stuck
       FROM settlements WHERE id = $1`,
    [id],
  );
  return rows[0] && { ...rows[0], claims: await claimsOfSettlement(db, id) };
}

/** While a settlement is stuck, no new one is planned. */
export async function isAnyStuck(db: Queryable, chain: ChainId): Promise<boolean> {
  const { rows } = await db.query(`${stuck} AND s.chain = $1 LIMIT 1`, [chain]);
  return rows.length > 0;
}

const stuck = `SELECT FROM settlements s JOIN chain_steps c ON c.saga_id = s.id AND c.step = 'submit'
  WHERE s.finished_at IS NULL AND c.provider_ref IS NULL
    AND s.created_at < clock_timestamp() - interval '${stuckSeconds} seconds'`;
