import { getAddress, type Hex } from 'viem';
import type { ChainId } from '../chains/chains.ts';
import type { Queryable } from '../db/database.ts';
import { type AccountId, houseAccount, userAccount } from '../ledger/account-id.ts';
import { type Amount, amountOf } from '../money/amount.ts';
import type { Asset } from '../money/asset.ts';
import type { WithdrawalStatus } from './saga.ts';

/** Money on its way out, to an address outside. */
export interface Withdrawal {
  readonly id: string;
  /** Null when the operator pays out earned fees. */
  readonly accountId: bigint | null;
  readonly chain: ChainId;
  readonly address: Hex;
  /** What left the balance. */
  readonly gross: Amount;
  readonly fee: Amount;
  /** What arrives. */
  readonly net: Amount;
  readonly status: WithdrawalStatus;
  readonly txHash: Hex | null;
  readonly error: string | null;
  /** For the operator alone. */
  readonly heldBecause: string | null;
  /** The operator let it go after it was held. */
  readonly released: boolean;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

/** Where its money came from, and goes back to when it fails. */
export function sourceOf({ accountId, gross, chain }: Pick<Withdrawal, 'accountId' | 'gross' | 'chain'>): AccountId {
  return accountId === null ? houseAccount('fees', gross.asset, chain) : userAccount(accountId, gross.asset, chain);
}

/** Its one step on a chain. */
export function payStep(withdrawalId: string) {
  return { sagaId: withdrawalId, step: 'pay' } as const;
}

export async function findWithdrawal(db: Queryable, id: string): Promise<Withdrawal | undefined> {
  const { rows } = await db.query<WithdrawalRow>(`${selectWithdrawal} WHERE id = $1`, [id]);
  return rows[0] && toWithdrawal(rows[0]);
}

export const selectWithdrawal = `SELECT id, account_id, chain, asset, address, gross, fee, net, status,
    (SELECT s.hash FROM chain_steps s WHERE s.saga_id = withdrawals.id AND s.step = 'pay') AS tx_hash,
    error, held_because, released_at IS NOT NULL AS released, created_at, finished_at
  FROM withdrawals`;

export interface WithdrawalRow {
  readonly id: string;
  readonly account_id: bigint | null;
  readonly chain: ChainId;
  readonly asset: Asset;
  readonly address: string;
  readonly gross: string;
  readonly fee: string;
  readonly net: string;
  readonly status: WithdrawalStatus;
  readonly tx_hash: Hex | null;
  readonly error: string | null;
  readonly held_because: string | null;
  readonly released: boolean;
  readonly created_at: Date;
  readonly finished_at: Date | null;
}

export function toWithdrawal(row: WithdrawalRow): Withdrawal {
  const amount = (atomic: string) => amountOf(row.asset, BigInt(atomic));
  return {
    id: row.id,
    accountId: row.account_id,
    chain: row.chain,
    address: getAddress(row.address),
    gross: amount(row.gross),
    fee: amount(row.fee),
    net: amount(row.net),
    status: row.status,
    txHash: row.tx_hash,
    error: row.error,
    heldBecause: row.held_because,
    released: row.released,
    createdAt: row.created_at,
    finishedAt: row.finished_at,
  };
}
