import type { AccountId } from '../../ledger/account-id.ts';
import type { LocatedTransfer } from './read-transfers.ts';

/** A transfer that arrived, and its account; null for the house. */
export interface Arrival extends Omit<LocatedTransfer, 'blockHash' | 'logIndex' | 'log'> {
  readonly accountId: bigint | null;
  /** Set when a step expected it at a house wallet, or when a claim names its account. */
  readonly expected?: { readonly stepId?: string; readonly claimId?: string; readonly account: AccountId };
  /** Only one node has shown it. */
  readonly oneNode?: true;
  /** Set once it was held as a deposit. */
  readonly depositId?: string;
}
