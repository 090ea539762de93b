import type { AccountId } from '../../ledger/account-id.ts';
import type { LocatedTransfer } from './read-transfers.ts';

/** A transfer that came to us, and who it is for; the house when it is for nobody. */
export interface Arrival extends Omit<LocatedTransfer, 'blockHash' | 'logIndex' | 'log'> {
  readonly accountId: bigint | null;
  /** A step has expected it at a house wallet, or somebody has paid with it: then it is known which account it is for. */
  readonly expected?: { readonly stepId?: string; readonly claimId?: string; readonly account: AccountId };
  /** Nobody has confirmed what the node said that it was read from. */
  readonly oneNode?: true;
  /** How it is known since it was held. */
  readonly depositId?: string;
}
