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
  readonly txHash: Hex;
  readonly position: number;
  readonly accountId: bigint | null;
  readonly address: Hex;
  readonly sender: Hex;
  readonly asset: Asset;
  readonly atomic: bigint;
  readonly homeBound: boolean;
  readonly kept: boolean;
  readonly claimId: string | null;
  readonly bridgeId: string | null;
  readonly vanishedAt: Date | null;
  readonly sweepId: string | null;
  readonly sagaId: string | null;
  readonly bridgeOpen: boolean | null;
  readonly reversedAt: Date | null;
  readonly owed: bigint;
}

function toBooked(row: Row): BookedDeposit {
  return {
    id: row.id,
    chain: row.chain,
    txHash: row.txHash,
    position: row.position,
    accountId: row.accountId,
    recipient: row.address,
    sender: row.sender,
    amount: amountOf(row.asset, row.atomic),
    isHomeBound: row.homeBound,
    isKept: row.kept,
    sagaId: row.sagaId,
    claimId: row.claimId,
    sweep: row.sweepId,
    bridge: row.bridgeId === null ? null : { id: row.bridgeId, isOpen: row.bridgeOpen ?? false },
    vanishedAt: row.vanishedAt,
    reversedAt: row.reversedAt,
    owed: amountOf(row.asset, row.owed),
  };
}
