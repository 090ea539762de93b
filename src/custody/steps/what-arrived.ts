import type { Queryable } from '../../kernel/db/database.ts';
import type { Asset } from '../../money/catalogue.ts';
import type { ChainStep } from './chain-step.ts';

/** How much of an asset a step has brought, by the books. Undefined while nothing has arrived. */
export async function whatArrived(
  db: Queryable,
  { id }: Pick<ChainStep, 'id'>,
  asset: Asset,
): Promise<bigint | undefined> {
  const { rows } = await db.query<{ atomic: bigint | null }>(
    'SELECT sum(atomic) AS atomic FROM deposits WHERE step_id = $1 AND asset = $2',
    [id, asset],
  );
  return rows[0]?.atomic == null ? undefined : rows[0].atomic;
}
