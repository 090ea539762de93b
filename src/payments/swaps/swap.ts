import type { Hex } from 'viem';
import { approveStep } from '../../custody/steps/spending-wallet.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { type Amount, amountOf, type Stored } from '../../money/amount.ts';
import { type Asset, chains, homeChain } from '../../money/catalogue.ts';
import type { SwapStatus } from './saga.ts';

export interface Swap {
  readonly id: string;
  readonly accountId: bigint;
  /** The key that asked for it. */
  readonly keyId: string | null;
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
  return (await selectSwaps(db, 'WHERE id = $1', [id]))[0];
}

type AmountName = 'amount' | 'fee' | 'gasFee' | 'unspent' | 'quoted' | 'amountOutMin' | 'amountOut';

export async function selectSwaps(db: Queryable, where: string, values: readonly unknown[]): Promise<Swap[]> {
  const { rows } = await db.query<Stored<Omit<Swap, 'net'>, AmountName> & { readonly toAsset: Asset }>(
    `SELECT id, account_id, key_id, asset, to_asset, amount, fee, gas_fee, pool_gas, quoted, amount_out_min, deadline, swapper_id,
        status, path, recipient, amount_out, unspent, error, gas_due, created_at, coalesce(finished_at,
          CASE WHEN status = 'returning' THEN status_since END) AS finished_at,
        (SELECT s.hash FROM chain_steps s WHERE s.saga_id = swaps.id AND s.step = 'swap') AS tx_hash
      FROM swaps ${where}`,
    values,
  );
  return rows.map(({ asset, toAsset, ...row }) => ({
    ...row,
    amount: amountOf(asset, row.amount),
    fee: amountOf(asset, row.fee),
    gasFee: amountOf(asset, row.gasFee),
    net: amountOf(asset, row.amount - row.fee),
    unspent: amountOf(asset, row.unspent),
    quoted: amountOf(toAsset, row.quoted),
    amountOutMin: amountOf(toAsset, row.amountOutMin),
    amountOut: row.amountOut === null ? null : amountOf(toAsset, row.amountOut),
  }));
}
