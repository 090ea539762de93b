import type { Hex } from 'viem';
import type { Queryable } from '../../kernel/db/database.ts';
import { type Amount, amountOf } from '../../money/amount.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';

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

const select = `SELECT d.id, d.chain, d.tx_hash, d.position, d.account_id, d.address, d.sender, d.asset, d.atomic, d.home_bound,
    d.kept_at IS NOT NULL AS kept, d.claim_id, d.bridge_id, d.vanished_at,
    CASE WHEN d.swept_at IS NULL THEN d.sweep_id END AS sweep_id,
    (SELECT s.saga_id FROM chain_steps s WHERE s.id = d.step_id) AS saga_id,
    (SELECT b.finished_at IS NULL FROM bridges b WHERE b.id = d.bridge_id) AS bridge_open,
    (SELECT r.reversed_at FROM deposit_reversals r WHERE r.deposit_id = d.id) AS reversed_at,
    coalesce((SELECT r.owed - r.settled FROM deposit_reversals r WHERE r.deposit_id = d.id), 0) AS owed
  FROM deposits d`;

export async function findBooked(
  db: Queryable,
  id: string,
  lock: 'lock' | 'look' = 'look',
): Promise<BookedDeposit | undefined> {
  const { rows } = await db.query<Row>(`${select} WHERE d.id = $1${lock === 'lock' ? ' FOR UPDATE' : ''}`, [id]);
  return rows[0] && toBooked(rows[0]);
}

/** Lost deposits first, then reversed ones, each oldest first. */
export async function listLost(db: Queryable): Promise<BookedDeposit[]> {
  const { rows } = await db.query<Row>(
    `${select} WHERE d.id IN (SELECT id FROM deposits WHERE vanished_at IS NOT NULL
        UNION SELECT deposit_id FROM deposit_reversals) ORDER BY d.vanished_at IS NULL, d.id LIMIT 1000`,
  );
  return rows.map(toBooked);
}

interface Row {
  readonly id: string;
  readonly chain: ChainId;
  readonly tx_hash: Hex;
  readonly position: number;
  readonly account_id: bigint | null;
  readonly address: Hex;
  readonly sender: Hex;
  readonly asset: Asset;
  readonly atomic: string;
  readonly home_bound: boolean;
  readonly kept: boolean;
  readonly claim_id: string | null;
  readonly bridge_id: string | null;
  readonly vanished_at: Date | null;
  readonly sweep_id: string | null;
  readonly saga_id: string | null;
  readonly bridge_open: boolean | null;
  readonly reversed_at: Date | null;
  readonly owed: string;
}

function toBooked(row: Row): BookedDeposit {
  return {
    id: row.id,
    chain: row.chain,
    txHash: row.tx_hash,
    position: row.position,
    accountId: row.account_id,
    recipient: row.address,
    sender: row.sender,
    amount: amountOf(row.asset, BigInt(row.atomic)),
    isHomeBound: row.home_bound,
    isKept: row.kept,
    sagaId: row.saga_id,
    claimId: row.claim_id,
    sweep: row.sweep_id,
    bridge: row.bridge_id === null ? null : { id: row.bridge_id, isOpen: row.bridge_open ?? false },
    vanishedAt: row.vanished_at,
    reversedAt: row.reversed_at,
    owed: amountOf(row.asset, BigInt(row.owed)),
  };
}
