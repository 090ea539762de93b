import type { Queryable, Transaction } from '../db/database.ts';
import type { Caller } from '../http/define-route.ts';
import type { Problem } from '../http/problem.ts';
import { type CappedKind, dailyCaps } from './caps.ts';
import { dailyCapErrors } from './errors.ts';
import { secondsLeftToday, takenToday, takeToday } from './take-today.ts';

type Writer = Pick<Caller, 'accountId' | 'tier'>;

/**
 * Counts what an account creates without paying, in the transaction that creates it, and throws once the daily cap is
 * reached. A rollback undoes the count, and an idempotent replay is not counted. Enterprise accounts are exempt: the
 * operator knows them.
 */
export async function countToday(tx: Transaction, writer: Writer, kind: CappedKind, places = 1): Promise<void> {
  if (writer.tier === 'enterprise' || places === 0) return;
  const taken = await takeToday(tx, { scope: scopeOf(writer, kind), limit: dailyCaps[kind].most, places });
  if (taken === undefined) throw await capReached(tx, kind);
}

/** Checks the cap before slow work begins. Only `countToday`, in the transaction, is binding. */
export async function refuseBeyondCap(db: Queryable, writer: Writer, kind: CappedKind): Promise<void> {
  if (writer.tier === 'enterprise') return;
  if ((await takenToday(db, scopeOf(writer, kind))) >= dailyCaps[kind].most) throw await capReached(db, kind);
}

export async function capReached(db: Queryable, kind: CappedKind): Promise<Problem> {
  const { most, named } = dailyCaps[kind];
  const seconds = await secondsLeftToday(db);
  return dailyCapErrors.daily_cap_reached(
    `The account has reached its daily limit of ${most} ${named}; days are in UTC. Try again in ${seconds} seconds, or ask the operator for an enterprise account.`,
    { headers: { 'Retry-After': String(seconds) } },
  );
}

function scopeOf({ accountId }: Writer, kind: CappedKind): string {
  return `${kind}:account:${accountId}`;
}
