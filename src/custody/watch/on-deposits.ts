import type { Hex } from 'viem';
import type { Transaction } from '../../kernel/db/database.ts';
import { defineHook } from '../../kernel/hook.ts';
import type { Asset, ChainId } from '../../money/catalogue.ts';

/** A deposit of somebody's, in the commit that credits it. */
export interface CreditedDeposit {
  readonly id: string;
  readonly accountId: bigint;
  readonly asset: Asset;
  readonly atomic: bigint;
  readonly txHash: Hex;
  /** Its place on the chain: the block, and among the logs of its transaction. */
  readonly blockNumber: bigint;
  readonly position: number;
  /** The posting that is about to credit it. */
  readonly transferId: string;
}

/** What somebody does when deposits on a chain are credited, in the same commit. It is told of each deposit once. */
export type OnDeposits = (tx: Transaction, chain: ChainId, deposits: readonly CreditedDeposit[]) => Promise<void>;

/** Part of the commit that credits deposits, before the posting. Everybody's deposits wait for it: nothing slow. */
export const depositsCredited = defineHook<OnDeposits>();
