import type { Hex } from 'viem';
import type { ChainId } from '../../money/catalogue.ts';
import type { HeldWallet } from './provider.ts';

/** A transaction of a wallet of ours that the chain knows and this database does not. */
export interface UnknownTransaction {
  readonly id: bigint;
  readonly chain: ChainId;
  readonly sender: Hex;
  readonly nonce: number;
  /** Undefined when no node could say what has used the nonce. */
  readonly sent: { readonly hash: Hex; readonly to: Hex; readonly data: Hex; readonly value: bigint } | undefined;
  /** The keys of the steps that wait until somebody decides about it. */
  readonly holds: readonly string[];
}

/**
 * What the wallets have sent that nobody here remembers, as after a restore from a backup. Whatever is alike waits until a
 * person has said what it was.
 */
export interface UnknownTransactions {
  /** Asks the chain what a wallet has sent. */
  look(wallet: HeldWallet): Promise<void>;
  /** Whether nobody has decided yet about something that the wallet has sent. */
  hasOpen(wallet: HeldWallet): Promise<boolean>;
  /** Those that nobody has decided about. */
  list(): Promise<readonly UnknownTransaction[]>;
  /**
   * It was the transaction of the step with this key, which goes on from there. Refused when it did something else; of a step that
   * nobody has come to sign the caller has compared that, and says which wallet it is of.
   */
  adopt(id: bigint, key: string, unsignedOf?: HeldWallet): Promise<void>;
  /** It has paid none of what is still to be paid. */
  dismiss(id: bigint): Promise<void>;
}
