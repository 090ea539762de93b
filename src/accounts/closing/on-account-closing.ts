import type { Transaction } from '../../db/database.ts';

/** Locks, or erases, what a feature knows of the person behind an account that closes. */
export type OnAccountClosing = (tx: Transaction, accountId: bigint) => Promise<void>;

/** Something that has to end before its account can be closed. */
export interface UnderWay {
  /** In a word, such as `withdrawal`. */
  readonly kind: string;
  readonly id: string;
}

export type UnderWayOf = (tx: Transaction, accountId: bigint) => Promise<UnderWay[]>;
