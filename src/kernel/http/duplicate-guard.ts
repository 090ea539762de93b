import { z } from 'zod';
import type { Queryable, Transaction } from '../db/database.ts';
import { lockUntilCommit } from '../db/locks.ts';
import { httpErrors } from './errors.ts';
import { defineErrors, type Problem } from './problem.ts';

/**
 * Refuses a payment that repeats another one. A model that lost a response plans again, with a fresh Idempotency-Key, so that nothing
 * but the payment itself shows the repetition.
 */
export interface DuplicateGuard {
  /** The payment that this one does not repeat, although it looks like it. */
  readonly notDuplicateOf: string | undefined;
}

/** A payment since then is repeated by another one like it. SQL: a subquery is computed once, so that an index finds what is newer. */
export const repeatedSince = "(SELECT clock_timestamp() - interval '10 minutes')";

/** A member of the body of every payment. */
export const notDuplicateOf = z.string().max(64).optional().meta({
  description:
    'The `duplicateOf.id` of a `possible_duplicate`, if this is another payment. It turns the guard on for this request.',
});

export const guardErrors = defineErrors({
  possible_duplicate: {
    status: 409,
    title: 'Possible duplicate',
    detail: explain({ which: 'see `duplicateOf`', id: '`duplicateOf.id`' }),
  },
});

function explain({ which, id }: { readonly which: string; readonly id: string }): string {
  return `You made the same payment less than ten minutes ago: ${which}. No money was moved. If that is the payment you meant, you are done. To pay once more on purpose, send ${id} as \`notDuplicateOf\`.`;
}

/** The payment that may be repeated. */
export interface Repeated {
  readonly id: string;
  /** As the interface shows it. */
  readonly status: string;
  readonly createdAt: Date;
  /** What the error says instead, and beside `duplicateOf`. It names the id: a failed approval shows nothing else. */
  readonly detail?: string;
  readonly members?: Readonly<Record<string, unknown>>;
}

export function possibleDuplicate(repeated: Repeated): Problem {
  const { id, status, createdAt, detail = explain({ which: id, id: 'that id' }), members } = repeated;
  return guardErrors.possible_duplicate(detail, {
    members: { duplicateOf: { id, status, createdAt: createdAt.toISOString() }, ...members },
  });
}

/** On by the header `Duplicate-Guard`, by the account's setting, or because the request names what it does not repeat. */
export function readGuard(
  header: unknown,
  body: { readonly notDuplicateOf?: string | undefined } | undefined,
  caller: { readonly duplicateGuard?: boolean } | undefined,
): DuplicateGuard | undefined {
  const named = body?.notDuplicateOf;
  const wanted = typeof header === 'string' ? header.trim().toLowerCase() : header;
  if (wanted !== undefined && wanted !== 'on' && wanted !== 'off')
    throw httpErrors.invalid_request('Duplicate-Guard must be on or off.');
  if (wanted !== 'on' && named === undefined && caller?.duplicateGuard !== true) return undefined;
  return { notDuplicateOf: named };
}

/** Finds the newest payment like this one that counts. */
export type NewestLike = (db: Queryable) => Promise<Repeated | undefined>;

interface Guarded {
  readonly guard: DuplicateGuard | undefined;
  readonly accountId: bigint;
}

/** Decides in the caller's commit. Guarded payments of an account come one after the other, so that each finds those before it. */
export async function refuseDuplicate(
  tx: Transaction,
  { guard, accountId }: Guarded,
  newest: NewestLike,
): Promise<void> {
  if (guard === undefined) return;
  await lockUntilCommit(tx, { kind: 'guardedPayments', of: String(accountId) });
  refuseRepeated(guard, await newest(tx));
}

export function refuseRepeated({ notDuplicateOf }: DuplicateGuard, newest: Repeated | undefined): void {
  if (newest !== undefined && newest.id !== notDuplicateOf) throw possibleDuplicate(newest);
}
