import type { Transaction } from '../../kernel/db/database.ts';
import { defineHook } from '../../kernel/hook.ts';

/** Keys that the current transaction revokes. */
export interface EndedKeys {
  readonly accountId: bigint;
  /** `all` keys of the account, or these ids. */
  readonly keys: readonly string[] | 'all';
  /** Whether the webhooks of these keys end too. */
  readonly webhooks: 'end' | 'keep';
}

export interface WebhookOfKey {
  readonly id: string;
  readonly url: string;
}

export type OnKeysEnded = (tx: Transaction, ended: EndedKeys) => Promise<WebhookOfKey[]>;

/** Runs in the transaction that revokes API keys: lists the webhooks of these keys, or ends them too. */
export const keysEnded = defineHook<OnKeysEnded>();

/** A rotation, in the transaction that creates the new key. */
interface RotatedKeys {
  readonly accountId: bigint;
  /** The rotated key, and a revoked successor from an earlier rotation. */
  readonly from: readonly string[];
  readonly to: string;
}

/** Moves the webhooks of the old key to the new one. */
export type OnKeyRotated = (tx: Transaction, rotated: RotatedKeys) => Promise<void>;

export const keyRotated = defineHook<OnKeyRotated>();
