import type { Queryable } from '../../kernel/db/database.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';
import { type Claim, claimsOfSettlement } from './claim.ts';

/** Payments that are submitted together. */
export interface Settlement {
  readonly id: string;
  readonly chain: ChainId;
  readonly asset: Asset;
  readonly status: 'submitting' | 'complete' | 'failed';
  readonly claims: readonly Claim[];
  /** Its transaction was planned a while ago, and nobody has taken it. */
  readonly isStuck: boolean;
}

/** A transaction that nobody has taken after so long shows that the wallet cannot send. */
const stuckSeconds = 30;

/** Its one step on a chain. */
export function submitStep(settlementId: string) {
  return { sagaId: settlementId, step: 'submit' } as const;
}

export async function findSettlement(db: Queryable, id: string): Promise<Settlement | undefined> {
  const { rows } = await db.query<Omit<Settlement, 'claims'>>(
    `SELECT id, chain, asset, status, EXISTS (${stuck} AND s.id = settlements.id) AS "isStuck"
       FROM settlements WHERE id = $1`,
    [id],
  );
  return rows[0] && { ...rows[0], claims: await claimsOfSettlement(db, id) };
}

/** Whether a wallet that settles cannot send: then nothing more is planned for it. */
export async function isAnyStuck(db: Queryable, chain: ChainId): Promise<boolean> {
  const { rows } = await db.query(`${stuck} AND s.chain = $1 LIMIT 1`, [chain]);
  return rows.length > 0;
}

const stuck = `SELECT FROM settlements s JOIN chain_steps c ON c.saga_id = s.id AND c.step = 'submit'
  WHERE s.finished_at IS NULL AND c.provider_ref IS NULL
    AND s.created_at < clock_timestamp() - interval '${stuckSeconds} seconds'`;
