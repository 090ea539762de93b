import type { Transaction } from '../../kernel/db/database.ts';
import { defineHook } from '../../kernel/hook.ts';

/** Keys that are being ended, in the commit that ends them. */
export interface EndedKeys {
  readonly accountId: bigint;
  /** `all` that the account ever had, or those with these ids. */
  readonly keys: readonly string[] | 'all';
  /** What becomes of the webhooks that were made with them. */
  readonly webhooks: 'end' | 'keep';
}

/** A webhook that was made with one of them. */
export interface WebhookOfKey {
  readonly id: string;
  readonly url: string;
}

/** What somebody has to tell, or to end, when keys end. */
export type OnKeysEnded = (tx: Transaction, ended: EndedKeys) => Promise<WebhookOfKey[]>;

/** Part of the commit that ends API keys: names what was made with them and outlasts them, or ends it too. */
export const keysEnded = defineHook<OnKeysEnded>();

/** A key that another one replaces, in the commit that makes the new one. */
interface RotatedKeys {
  readonly accountId: bigint;
  /** The rotated key, and a successor that was given up before it. */
  readonly from: readonly string[];
  readonly to: string;
}

/** Hands over to the new key what was made with the old one. */
export type OnKeyRotated = (tx: Transaction, rotated: RotatedKeys) => Promise<void>;

/** Part of the commit that rotates an API key. */
export const keyRotated = defineHook<OnKeyRotated>();
