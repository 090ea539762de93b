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
  readonly accountId: bigint;
  readonly asset: Asset;
  readonly toAsset: Asset;
  readonly amount: bigint;
  readonly fee: bigint;
  readonly gasFee: bigint;
  readonly poolGas: bigint;
  readonly quoted: bigint;
  readonly amountOutMin: bigint;
  readonly deadline: bigint;
  readonly swapperId: string;
  readonly status: SwapStatus;
  readonly path: Hex | null;
  readonly recipient: Hex | null;
  readonly amountOut: bigint | null;
  readonly unspent: bigint;
  readonly txHash: Hex | null;
  readonly error: string | null;
  readonly gasDue: boolean;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

export function toSwap(row: SwapRow): Swap {
  const sold = (atomic: bigint) => amountOf(row.asset, atomic);
  const bought = (atomic: bigint) => amountOf(row.toAsset, atomic);
  return {
    id: row.id,
    accountId: row.accountId,
    amount: sold(row.amount),
    fee: sold(row.fee),
    gasFee: sold(row.gasFee),
    poolGas: row.poolGas,
    net: subtract(sold(row.amount), sold(row.fee)),
    quoted: bought(row.quoted),
    amountOutMin: bought(row.amountOutMin),
    deadline: row.deadline,
    swapperId: row.swapperId,
    status: row.status,
    path: row.path,
    recipient: row.recipient,
    amountOut: row.amountOut === null ? null : bought(row.amountOut),
    unspent: sold(row.unspent),
    txHash: row.txHash,
    error: row.error,
    gasDue: row.gasDue,
    createdAt: row.createdAt,
    finishedAt: row.finishedAt,
  };
}
