import type { Transaction } from '../kernel/db/database.ts';
import type { DuplicateGuard } from '../kernel/http/duplicate-guard.ts';
import type { Problem } from '../kernel/http/problem.ts';
import { fromTypeId, newUuid, toTypeId } from '../kernel/ids/typeid.ts';
import { type Amount, amountOf } from '../money/amount.ts';
import type { Asset, ChainId } from '../money/catalogue.ts';
import { type AccountId, assetOfAccount, houseAccount, pairOf } from './account-id.ts';

/** The public id of a posting, a TypeID. The database stores the UUID. */
export type PostingId = `trf_${string}`;

export function newPostingId(): PostingId {
  return toPostingId(newUuid(Date.now()));
}

/** From a UUID with or without hyphens. */
export function toPostingId(uuid: string): PostingId {
  return toTypeId('trf', uuid);
}

/** As 32 hex digits; undefined when the text is not the id of a posting. */
export function toPostingUuid(id: string): string | undefined {
  return fromTypeId('trf', id);
}

/** Positive when the account receives, negative when it pays. */
export interface Entry {
  readonly account: AccountId;
  readonly atomic: bigint;
}

/** The request that a posting belongs to. The same key with the same hash posts once. */
export interface IdempotencyScope {
  readonly accountId: bigint;
  readonly key: string;
  /** At least 32 hex digits. */
  readonly requestHash: string;
  /** Hashes that the same request had under replaced secrets. Called only when the key is stored with another hash. */
  readonly formerHashes?: () => readonly string[];
}

/** What a payment takes of one budget, in the atomic units of the budget's currency. */
export interface Spend {
  readonly budget: bigint;
  readonly amount: bigint;
}

/** The consent of a key and all keys above it. Only `src/policies/consent.ts` makes one. */
export interface Authority {
  /** Of the account's policies. After a later change the posting is refused as `stale`. */
  readonly stamp: bigint;
  /** The key's own budgets first, then upward. */
  readonly spends: readonly Spend[];
  /**
   * Writes what belongs to the posting, in its commit and before it, and returns what to take of the budgets instead. If the ledger
   * refuses the posting, nothing of it stays.
   */
  readonly inCommit?: (tx: Transaction) => Promise<readonly Spend[]>;
  /** Only where a policy has judged. */
  readonly decision?: Decision;
}

/** The decision of policies about a payment. It is recorded in the commit of its posting (src/policies/decisions/). */
export interface Decision {
  /** The account that is paid, if one is. */
  readonly payee: bigint | undefined;
  /** What its record has in common with others that take from the same budgets. */
  template(spends: readonly Spend[]): DecisionTemplate;
  /** What the record has beside its template (migration 036). */
  parts(posted: { readonly decisionId: string; readonly id: PostingId }): string;
  /** A budget does not cover the payment, and this is the answer. */
  refused(problem: Problem, exceeded: readonly ExceededBudget[]): void;
}

/** What the records of many decisions have in common (migration 036). It is stored with the first one. */
export interface DecisionTemplate {
  /** A UUID, as 32 hex digits: the first half of the SHA-256 of the form. */
  readonly id: string;
  readonly keyId: string;
  readonly form: string;
}

/** One movement of money. Its entries sum to zero per chain and asset, and name each account at most once. */
export interface Posting {
  /** Generated when left out. */
  readonly id?: PostingId;
  /** Transfer, deposit, withdrawal … */
  readonly type: string;
  /** Entries of zero, such as the fee on a cent, are dropped. */
  readonly entries: readonly Entry[];
  /** As shown to people: the amount before the fee, and the fee in the same asset. */
  readonly amount: Amount;
  readonly fee?: Amount;
  readonly senderId?: bigint;
  readonly recipientId?: bigint;
  readonly description?: string | undefined;
  /**
   * What this posting answers to outside the ledger, such as `deposit:MATIC:0x…:3`. A second posting with it is a
   * duplicate.
   */
  readonly reference?: string;
  /** JSON that the feature needs to give the same answer again. */
  readonly details?: unknown;
  /** The API key that started it: once revoked, nothing more is posted. Left out when a saga continues by itself. */
  readonly keyId?: string;
  /** Goes with `keyId`. Without it, a posting of an account with policies is `stale`. */
  readonly authority?: Authority;
  /** Names what was spent, for a saga or an order that may return some of it. */
  readonly spentOn?: string;
  /** Gives back the share `part` ÷ `whole` of what was spent on `of`. All returns together give back at most everything. */
  readonly returns?: { readonly of: string; readonly part: bigint; readonly whole: bigint } | undefined;
  readonly idempotency?: IdempotencyScope | undefined;
  /** Goes with a payer, as whose payment it is refused if it repeats another one of the same type. */
  readonly guard?: DuplicateGuard | undefined;
  /** Events to record if the account subscribed to them. */
  readonly senderEvent?: string;
  readonly recipientEvent?: string;
}

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
  /** The account's policies have changed since the authority was given. */
  | 'stale'
  /** The idempotency key belongs to another request. */
  | 'mismatch';

export type Outcome =
  | { readonly outcome: 'posted'; readonly posting: Posted }
  /** The earlier posting. Nothing was changed. */
  | { readonly outcome: 'duplicate'; readonly posting: Posted }
  /** Every budget that does not cover it, in the order of its spends. */
  | {
      readonly outcome: 'budget_exceeded';
      readonly exceeded: readonly ExceededBudget[];
      readonly decision?: Decision | undefined;
    }
  /** The newest payment like it. */
  | { readonly outcome: 'possible_duplicate'; readonly of: { readonly id: PostingId; readonly postedAt: Date } }
  | { readonly outcome: RefusedOutcome };

export interface ExceededBudget {
  /** The key that has the budget, and the id of the budget in its policy. */
  readonly key: string;
  readonly id: string;
  readonly onExceed: 'deny' | 'ask';
  readonly remaining: Amount;
  /** When the window ends, or with a rolling window, when the next unit returns. Null for `once`. */
  readonly resetsAt: Date | null;
}

/** NUL in JSON. A backslash that is meant is doubled there. */
const escapedNul = /(?<!\\)(?:\\\\)*\\u0000/;

/** The database would refuse these mistakes, too, but would fail the whole batch. */
export function assertSound(posting: Posting): void {
  const { id, type, entries, amount, fee, idempotency, keyId, description, reference, details, spentOn } = posting;
  if (id !== undefined && toPostingUuid(id) === undefined) throw new TypeError(`${id} is not the id of a posting`);
  if (fee !== undefined && fee.asset !== amount.asset) throw new TypeError('the fee is not in the asset of the amount');
  if (!isUsual(entries)) assertBalanced(entries);
  if (idempotency !== undefined && !/^[\da-f]{32}/.test(idempotency.requestHash)) {
    throw new TypeError('requestHash must have at least 32 hex digits');
  }
  if (keyId !== undefined && posting.senderId === undefined) throw new TypeError('a posting of a key has a sender');
  if (details !== undefined && escapedNul.test(JSON.stringify(details))) throw hasNul();
  if (type.includes('\0') || description?.includes('\0') || reference?.includes('\0')) throw hasNul();
  if (spentOn?.includes('\0') || posting.returns?.of.includes('\0')) throw hasNul();
  if (keyId?.includes('\0') || idempotency?.key.includes('\0')) throw hasNul();
}

/** One account pays one or two others, in one asset on one chain: nearly every posting. */
function isUsual(entries: readonly Entry[]): boolean {
  const [payer, payee, third] = entries;
  if (payer === undefined || payee === undefined || entries.length > 3) return false;
  if (payer.atomic === 0n || payer.account === payee.account) return false;
  const pair = pairOf(payer.account);
  if (pairOf(payee.account) !== pair) return false;
  if (third === undefined) return payer.atomic + payee.atomic === 0n;
  if (third.account === payer.account || third.account === payee.account || pairOf(third.account) !== pair)
    return false;
  return payer.atomic + payee.atomic + third.atomic === 0n;
}

function assertBalanced(entries: readonly Entry[]): void {
  let moves = false;
  for (let at = 0; at < entries.length; at++) {
    const { account, atomic } = entries[at] as Entry;
    moves ||= atomic !== 0n;
    let sum = atomic;
    for (let other = 0; other < entries.length; other++) {
      const entry = entries[other] as Entry;
      if (other === at) continue;
      if (entry.account === account) throw new TypeError('an account appears twice in one posting');
      if (pairOf(entry.account) === pairOf(account)) sum += entry.atomic;
    }
    if (sum !== 0n) {
      throw new TypeError(`the entries in ${assetOfAccount(account)} on one chain sum to ${sum}, not to zero`);
    }
  }
  if (!moves) throw new TypeError('a posting must have a non-zero entry');
}

function hasNul(): TypeError {
  return new TypeError('PostgreSQL text cannot contain a NUL character');
}

/**
 * The cost of a transaction according to its receipt, paid in the operator's native coin. A house wallet pays from the
 * tank, a user's wallet from what was lent to it. The balance of `gas` shows how much of the operator's funding is
 * left. No posting when the cost is zero.
 */
export function gasSpent(spent: {
  readonly chain: ChainId;
  readonly native: Asset;
  readonly hash: string;
  readonly cost: bigint;
  readonly from: 'gas_tank' | 'gas_lent';
}): Posting[] {
  const { chain, native, hash, cost, from } = spent;
  if (cost === 0n) return [];
  return [
    {
      type: 'gas',
      amount: amountOf(native, cost),
      entries: [
        { account: houseAccount(from, native, chain), atomic: cost },
        { account: houseAccount('gas', native, chain), atomic: -cost },
      ],
      reference: `gas:${chain}:${hash}`,
    },
  ];
}
