import type { Transaction } from '../../kernel/db/database.ts';
import { defineHook } from '../../kernel/hook.ts';

interface ClosingParts {
  readonly publicUrl: () => string;
}

export type OnAccountClosing = (tx: Transaction, accountId: bigint, parts: ClosingParts) => Promise<void>;

/** Runs first in the closing transaction: locks what other code locks before ledger accounts, and writes nothing. */
export const beforeAccountClosing = defineHook<OnAccountClosing>();

/**
 * Runs last in that transaction: erases personal data. The account's row is locked, so requests that require a live
 * key have either written before or are refused.
 */
export const accountClosing = defineHook<OnAccountClosing>();

/** Something unfinished that blocks the closing. */
export interface UnderWay {
  /** One word, such as `withdrawal`. */
  readonly kind: string;
  readonly id: string;
}

export type UnderWayOf = (tx: Transaction, accountId: bigint) => Promise<UnderWay[]>;

/** Names what blocks the closing. Open sagas with an `account_id` are found without it. */
export const underWay = defineHook<UnderWayOf>();
