import type { Hex } from 'viem';
import { approveStep } from '../../custody/steps/spending-wallet.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { type Amount, amountOf, subtract } from '../../money/amount.ts';
import { type Asset, chains, homeChain } from '../../money/catalogue.ts';
import type { SwapStatus } from './saga.ts';

export interface Swap {
  readonly id: string;
  readonly accountId: bigint;
  /** The debited amount. */
  readonly amount: Amount;
  readonly fee: Amount;
  /** The part of the fee that is kept for gas if the price moves during the swap. */
  readonly gasFee: Amount;
  /** The gas that the pools may use. */
  readonly poolGas: bigint;
  /** The amount less the fee. */
  readonly net: Amount;
  /** The quoted output at acceptance. */
  readonly quoted: Amount;
  readonly amountOutMin: Amount;
  /** In seconds since the epoch. */
  readonly deadline: bigint;
  /** The house wallet that swaps. */
  readonly swapperId: string;
  readonly status: SwapStatus;
  readonly path: Hex | null;
  /** The treasury that the router pays. */
  readonly recipient: Hex | null;
  readonly amountOut: Amount | null;
  /** The part that the market did not take, refunded. */
  readonly unspent: Amount;
  readonly txHash: Hex | null;
  readonly error: string | null;
  /** The price was checked just before the start, so the owner pays the gas if it moves. */
  readonly gasDue: boolean;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

/** By our clock. The chain's own clock decides in the end. */
export function isLate({ deadline }: Pick<Swap, 'deadline'>): boolean {
  return Date.now() >= Number(deadline) * 1_000;
}

/** Native coin is unwrapped and paid directly, without an approval. */
export function isCoin({ net }: Pick<Swap, 'net'>): boolean {
  return net.asset === chains[homeChain].native;
}

export function gasKeptOf({ status, gasFee, gasDue }: Pick<Swap, 'status' | 'gasFee' | 'gasDue'>): Amount {
  const isKept = gasDue && (status === 'returning' || status === 'failed');
  return isKept ? gasFee : amountOf(gasFee.asset, 0n);
}

export const prepareStep = ({ id, net }: Pick<Swap, 'id' | 'net'>) =>
  isCoin({ net }) ? { sagaId: id, step: 'unwrap' } : approveStep(id);
export const swapStep = (id: string) => ({ sagaId: id, step: 'swap' });

export async function findSwap(db: Queryable, id: string): Promise<Swap | undefined> {
  const { rows } = await db.query<SwapRow>(`${selectSwap} WHERE id = $1`, [id]);
  return rows[0] && toSwap(rows[0]);
}

export const selectSwap = `SELECT id, account_id, asset, to_asset, amount, fee, gas_fee, pool_gas, quoted, amount_out_min, deadline, swapper_id,
    status, path, recipient, amount_out, unspent, error, gas_due, created_at, coalesce(finished_at,
      CASE WHEN status = 'returning' THEN status_since END) AS finished_at,
    (SELECT s.hash FROM chain_steps s WHERE s.saga_id = swaps.id AND s.step = 'swap') AS tx_hash
  FROM swaps`;

export interface SwapRow {
  readonly id: string;
  readonly account_id: bigint;
  readonly asset: Asset;
  readonly to_asset: Asset;
  readonly amount: string;
  readonly fee: string;
  readonly gas_fee: string;
  readonly pool_gas: bigint;
  readonly quoted: string;
  readonly amount_out_min: string;
  readonly deadline: bigint;
  readonly swapper_id: string;
  readonly status: SwapStatus;
  readonly path: Hex | null;
  readonly recipient: Hex | null;
  readonly amount_out: string | null;
  readonly unspent: string;
  readonly tx_hash: Hex | null;
  readonly error: string | null;
  readonly gas_due: boolean;
  readonly created_at: Date;
  readonly finished_at: Date | null;
}

export function toSwap(row: SwapRow): Swap {
  const sold = (atomic: string) => amountOf(row.asset, BigInt(atomic));
  const bought = (atomic: string) => amountOf(row.to_asset, BigInt(atomic));
  return {
    id: row.id,
    accountId: row.account_id,
    amount: sold(row.amount),
    fee: sold(row.fee),
    gasFee: sold(row.gas_fee),
    poolGas: row.pool_gas,
    net: subtract(sold(row.amount), sold(row.fee)),
    quoted: bought(row.quoted),
    amountOutMin: bought(row.amount_out_min),
    deadline: row.deadline,
    swapperId: row.swapper_id,
    status: row.status,
    path: row.path,
    recipient: row.recipient,
    amountOut: row.amount_out === null ? null : bought(row.amount_out),
    unspent: sold(row.unspent),
    txHash: row.tx_hash,
    error: row.error,
    gasDue: row.gas_due,
    createdAt: row.created_at,
    finishedAt: row.finished_at,
  };
}
