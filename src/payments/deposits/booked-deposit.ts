import type { Hex } from 'viem';
import type { Queryable } from '../../kernel/db/database.ts';
import { type Amount, amountOf, type Stored } from '../../money/amount.ts';
import type { ChainId } from '../../money/catalogue.ts';

/** A credited deposit, and where its money is now. */
export interface BookedDeposit {
  readonly id: string;
  readonly chain: ChainId;
  readonly txHash: Hex;
  readonly position: number;
  readonly accountId: bigint | null;
  readonly recipient: Hex;
  readonly sender: Hex;
  readonly amount: Amount;
  readonly isHomeBound: boolean;
  readonly isKept: boolean;
  /** The saga whose step brought it to a house wallet. */
  readonly sagaId: string | null;
  readonly claimId: string | null;
  /** Set only while the sweep is in progress. */
  readonly sweep: string | null;
  readonly bridge: { readonly id: string; readonly isOpen: boolean } | null;
  readonly vanishedAt: Date | null;
  readonly reversedAt: Date | null;
  /** The part already spent when the deposit was reversed, less what has been settled since. */
  readonly owed: Amount;
}

export async function findBooked(
  db: Queryable,
  id: string,
  lock: 'lock' | 'look' = 'look',
): Promise<BookedDeposit | undefined> {
  return (await selectBooked(db, `WHERE d.id = $1${lock === 'lock' ? ' FOR UPDATE' : ''}`, [id]))[0];
}

/** Lost deposits first, then reversed ones, each oldest first. */
export async function listLost(db: Queryable): Promise<BookedDeposit[]> {
  return selectBooked(
    db,
    `WHERE d.id IN (SELECT id FROM deposits WHERE vanished_at IS NOT NULL
        UNION SELECT deposit_id FROM deposit_reversals) ORDER BY d.vanished_at IS NULL, d.id LIMIT 1000`,
  );
}

async function selectBooked(db: Queryable, where: string, values: readonly unknown[] = []): Promise<BookedDeposit[]> {
  const { rows } = await db.query<Stored<BookedDeposit, 'amount' | 'owed'>>(
    `SELECT d.id, d.chain, d.tx_hash, d.position, d.account_id, d.address AS recipient, d.sender, d.asset, d.atomic AS amount,
        d.home_bound AS is_home_bound, d.kept_at IS NOT NULL AS is_kept, d.claim_id, d.vanished_at,
        CASE WHEN d.swept_at IS NULL THEN d.sweep_id END AS sweep,
        (SELECT s.saga_id FROM chain_steps s WHERE s.id = d.step_id) AS saga_id,
        CASE WHEN d.bridge_id IS NOT NULL THEN json_build_object('id', d.bridge_id, 'isOpen',
          EXISTS (SELECT FROM bridges b WHERE b.id = d.bridge_id AND b.finished_at IS NULL)) END AS bridge,
        (SELECT r.reversed_at FROM deposit_reversals r WHERE r.deposit_id = d.id) AS reversed_at,
        coalesce((SELECT r.owed - r.settled FROM deposit_reversals r WHERE r.deposit_id = d.id), 0) AS owed
      FROM deposits d ${where}`,
    values,
  );
  return rows.map(({ asset, ...row }) => ({
    ...row,
    amount: amountOf(asset, row.amount),
    owed: amountOf(asset, row.owed),
  }));
}
