import type { Hex } from 'viem';
import { numberedStep } from '../../custody/steps/ask-anew.ts';
import { approveStep } from '../../custody/steps/spending-wallet.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { type Amount, amountOf, subtract } from '../../money/amount.ts';
import { type Asset, chains, homeChain } from '../../money/catalogue.ts';
import type { SwapStatus } from './saga.ts';

export interface Swap {
  readonly id: string;
  readonly accountId: bigint;
  /** What has left the balance. */
  readonly amount: Amount;
  readonly fee: Amount;
  /** What is kept for gas if the market does not keep to its price. Part of the fee. */
  readonly gasFee: Amount;
  /** What the pools may use of gas. */
  readonly poolGas: bigint;
  /** What is swapped: the amount less the fee. */
  readonly net: Amount;
  /** What the market said when it was accepted. */
  readonly quoted: Amount;
  readonly amountOutMin: Amount;
  /** In seconds since the epoch. */
  readonly deadline: bigint;
  /** The house wallet that swaps. */
  readonly swapperId: string;
  readonly status: SwapStatus;
  readonly path: Hex | null;
  /** The treasury that is paid. */
  readonly recipient: Hex | null;
  readonly amountOut: Amount | null;
  /** What of it the market has not taken, and is back in the balance. */
  readonly unspent: Amount;
  readonly txHash: Hex | null;
  readonly error: string | null;
  /** The price was looked at just before it was begun: if the market does not keep to it, or has not kept to it, its owner pays the gas. */
  readonly gasDue: boolean;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
}

/** By our clock; the chain has its own, and the last word. */
export function isLate({ deadline }: Pick<Swap, 'deadline'>): boolean {
  return Date.now() >= Number(deadline) * 1_000;
}

/** Native coin is paid as such: it is unwrapped first, and nobody has to be allowed to take it. */
export function isCoin({ net }: Pick<Swap, 'net'>): boolean {
  return net.asset === chains[homeChain].native;
}

/** What its owner has paid for gas. */
export function gasKeptOf({ status, gasFee, gasDue }: Pick<Swap, 'status' | 'gasFee' | 'gasDue'>): Amount {
  const isKept = gasDue && (status === 'returning' || status === 'failed');
  return isKept ? gasFee : amountOf(gasFee.asset, 0n);
}

export const prepareStep = ({ id, net }: Pick<Swap, 'id' | 'net'>) =>
  isCoin({ net }) ? { sagaId: id, step: 'unwrap' } : approveStep(id);
export const swapStep = (id: string) => ({ sagaId: id, step: 'swap' });
export const wrapStep = (id: string, attempt = 1) => ({ sagaId: id, step: numberedStep('wrap', attempt) });

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
