import type { Hex } from 'viem';
import type { ChainId } from '../../money/catalogue.ts';
import type { HeldWallet } from './provider.ts';

/** A transaction of one of our wallets that is on the chain and not in this database. */
export interface UnknownTransaction {
  readonly id: bigint;
  readonly chain: ChainId;
  readonly sender: Hex;
  readonly nonce: number;
  /** Undefined when no node could say which transaction used the nonce. */
  readonly sent: { readonly hash: Hex; readonly to: Hex; readonly data: Hex; readonly value: bigint } | undefined;
  /** The keys of the steps that wait for an explanation of it. */
  readonly holds: readonly string[];
}

/**
 * Transactions that our wallets sent and this database does not know, as after a restore from a backup. Steps that
 * match one wait until the operator explains it.
 */
export interface UnknownTransactions {
  /** Asks the chain what a wallet has sent. */
  look(wallet: HeldWallet): Promise<void>;
  /** Whether one of the wallet's transactions is unexplained. */
  hasOpen(wallet: HeldWallet): Promise<boolean>;
  /** The unexplained ones. */
  list(): Promise<readonly UnknownTransaction[]>;
  /**
   * It was the transaction of the step with this key, which continues from there. Throws when it did something else.
   * For an unsigned step the caller has compared the payment and names the wallet.
   */
  adopt(id: bigint, key: string, unsignedOf?: HeldWallet): Promise<void>;
  /** It paid nothing that is still to be paid. */
  dismiss(id: bigint): Promise<void>;
}
