import type { Hex } from 'viem';
import type { Transaction } from '../../kernel/db/database.ts';
import { defineHook } from '../../kernel/hook.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';

/** A user's deposit, in the commit that credits it. */
export interface CreditedDeposit {
  readonly id: string;
  readonly accountId: bigint;
  readonly asset: Asset;
  readonly atomic: bigint;
  readonly txHash: Hex;
  /** Its place on the chain: the block, and the index among its transaction's logs. */
  readonly blockNumber: bigint;
  readonly position: number;
  /** The posting that is about to credit it. */
  readonly transferId: string;
}

/** A feature's reaction to credited deposits, in the same commit. It is called once per deposit. */
export type OnDeposits = (tx: Transaction, chain: ChainId, deposits: readonly CreditedDeposit[]) => Promise<void>;

/**
 * Runs in the commit that credits deposits, before the posting. All deposits of the chain wait for it, so it must not
 * be slow.
 */
export const depositsCredited = defineHook<OnDeposits>();
