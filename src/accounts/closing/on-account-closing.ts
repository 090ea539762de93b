import type { Transaction } from '../../kernel/db/database.ts';
import { defineHook } from '../../kernel/hook.ts';

interface ClosingParts {
  /** Where the service is reached. */
  readonly publicUrl: () => string;
}

/** Locks, or erases, what a feature knows of the person behind an account that closes. */
export type OnAccountClosing = (tx: Transaction, accountId: bigint, parts: ClosingParts) => Promise<void>;

/** The first part of the commit that closes an account: locks what others lock before ledger accounts, and writes nothing. */
export const beforeAccountClosing = defineHook<OnAccountClosing>();

/**
 * The last part of that commit: erases what is known of the person. The account's row is locked, so requests that hold the key live
 * have either written before, or are refused.
 */
export const accountClosing = defineHook<OnAccountClosing>();

/** Something that has to end before its account can be closed. */
export interface UnderWay {
  /** In a word, such as `withdrawal`. */
  readonly kind: string;
  readonly id: string;
}

export type UnderWayOf = (tx: Transaction, accountId: bigint) => Promise<UnderWay[]>;

/** What keeps an account from being closed. Open sagas with an `account_id` do so by themselves. */
export const underWay = defineHook<UnderWayOf>();
