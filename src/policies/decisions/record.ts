import { hash } from 'node:crypto';
import type { Operation } from '../consent.ts';

/**
 * JSON without blanks, with the members of every object sorted by their UTF-16 code units (as RFC 8785 does). It takes texts, null, and
 * lists and objects of them, because only these have one spelling.
 */
export function canonicalJson(value: unknown): string {
  if (typeof value === 'string' || value === null) return JSON.stringify(value);
  if (Array.isArray(value)) return `[${value.map(canonicalJson).join(',')}]`;
  if (typeof value !== 'object') throw new TypeError(`${typeof value} has no canonical form`);
  const members = value as Readonly<Record<string, unknown>>;
  let text = '';
  for (const name of Object.keys(members).sort())
    text += `${text === '' ? '' : ','}${JSON.stringify(name)}:${canonicalJson(members[name])}`;
  return `{${text}}`;
}

/** A decision as it is hashed. Everything is a text, so that nothing has two spellings. */
export interface DecisionRecord {
  /** The handle. */
  readonly account: string;
  readonly amount: string;
  readonly approval: string | null;
  readonly asset: string;
  /** ISO 8601 in UTC with milliseconds. Of the first payment, if there are several. */
  readonly at: string;
  readonly budgets: readonly {
    readonly asset: string;
    readonly id: string;
    readonly key: string;
    readonly remainingAfter: string;
    readonly remainingBefore: string;
    readonly taken: string;
  }[];
  readonly code: string | null;
  /** How many payments were refused for the same reason. */
  readonly count: string;
  readonly counterparty: string | null;
  readonly id: string;
  readonly key: string;
  /** From the calling key up to the root. */
  readonly keys: readonly string[];
  readonly operation: Operation;
  readonly outcome: 'allow' | 'deny' | 'ask';
  readonly policies: readonly { readonly key: string; readonly version: string }[];
  readonly posting: string | null;
  readonly rule: { readonly index: string; readonly key: string } | null;
  /** Its number in the account's chain, from 1. */
  readonly seq: string;
}

/** Before the first record of an account. */
export const firstHead = Buffer.alloc(32);

/** What a key may be shown of a record that it may not read. A record contains a random id, so nobody can guess it from this. */
export function recordHash(record: string): Buffer {
  return hash('sha256', `\u0002${record}`, 'buffer');
}

export function digest(...parts: readonly Uint8Array[]): Buffer {
  return hash('sha256', Buffer.concat(parts), 'buffer');
}
