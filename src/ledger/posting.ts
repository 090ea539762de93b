import type { Amount } from '../money/amount.ts';
import { type AccountId, assetOfAccount, pairOf } from './account-id.ts';
import { type PostingId, toPostingUuid } from './posting-id.ts';

/** What one account gets (above zero) or gives (below). */
interface Entry {
  readonly account: AccountId;
  readonly atomic: bigint;
}

/** The request that a posting answers. The same key with the same hash posts once, ever. */
export interface IdempotencyScope {
  readonly accountId: bigint;
  readonly key: string;
  /** At least 16 bytes. */
  readonly requestHash: Uint8Array;
  /** What the same request may have been hashed to before. It is asked for only where the key is known with another hash. */
  readonly formerHashes?: () => readonly Uint8Array[];
}

/** One movement of money. On every chain its entries sum to zero in every asset, and each account stands in it once at most. */
export interface Posting {
  /** Made when left out. */
  readonly id?: PostingId;
  /** What happened, in a word: transfer, deposit, withdrawal … */
  readonly type: string;
  /** An entry of zero, such as the fee on a cent, is left out by itself. */
  readonly entries: readonly Entry[];
  /** What people are shown: the amount before the fee, and the fee in the same asset. */
  readonly amount: Amount;
  readonly fee?: Amount;
  readonly senderId?: bigint;
  readonly recipientId?: bigint;
  readonly description?: string;
  /** What outside the ledger this answers to, such as `deposit:MATIC:0x…:3`. A second posting is a duplicate of the first. */
  readonly reference?: string;
  /** Anything JSON that the feature needs to give the same answer again. */
  readonly details?: unknown;
  /** The API key that began it: after its revocation nothing is posted. Left out when a saga goes on by itself. */
  readonly keyId?: string;
  readonly idempotency?: IdempotencyScope;
  /** Names of the events to record, for those who asked for them. */
  readonly senderEvent?: string;
  readonly recipientEvent?: string;
}

/** A posting as it stands in the ledger. */
export interface Posted {
  readonly id: PostingId;
  readonly postedAt: Date;
  readonly type: string;
  readonly amount: Amount;
  readonly fee: Amount;
  readonly senderId: bigint | null;
  readonly recipientId: bigint | null;
  readonly description: string | null;
  readonly reference: string | null;
  readonly details: unknown;
}

export type RefusedOutcome =
  | 'insufficient_balance'
  | 'unknown_account'
  | 'frozen_account'
  | 'key_revoked'
  /** The idempotency key belongs to another request. */
  | 'mismatch';

export type Outcome =
  | { readonly outcome: 'posted'; readonly posting: Posted }
  /** It had been posted before, and this is that posting. Nothing was changed. */
  | { readonly outcome: 'duplicate'; readonly posting: Posted }
  | { readonly outcome: RefusedOutcome };

/** What the database would refuse is a mistake of ours, and is better found before it can hold up its neighbours. */
export function assertSound({ id, entries, amount, fee, ...rest }: Posting): void {
  if (id !== undefined && toPostingUuid(id) === undefined) throw new TypeError(`${id} is not the id of a posting`);
  if (fee !== undefined && fee.asset !== amount.asset) throw new TypeError('the fee is not in the asset of the amount');
  for (const [index, { account, atomic }] of entries.entries()) {
    let sum = atomic;
    for (const [other, entry] of entries.entries()) {
      if (other === index) continue;
      if (entry.account === account) throw new TypeError('an account stands twice in one posting');
      if (pairOf(entry.account) === pairOf(account)) sum += entry.atomic;
    }
    if (sum !== 0n) {
      throw new TypeError(`the entries in ${assetOfAccount(account)} on one chain sum to ${sum}, not to zero`);
    }
  }
  if (!entries.some(({ atomic }) => atomic !== 0n)) throw new TypeError('a posting moves something');
  if (rest.idempotency !== undefined && rest.idempotency.requestHash.length < 16) {
    throw new TypeError('16 bytes of a hash are needed to tell requests apart');
  }
  const details = rest.details === undefined ? '' : JSON.stringify(rest.details);
  if (details.includes('\\u0000')) throw new TypeError('PostgreSQL has no text with a zero character');
  for (const text of [rest.type, rest.description, rest.reference, rest.keyId, rest.idempotency?.key]) {
    if (text?.includes('\0')) throw new TypeError('PostgreSQL has no text with a zero character');
  }
}
