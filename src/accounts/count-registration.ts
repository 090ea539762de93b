import { secondsLeftToday, takenToday, takeToday } from '../kernel/daily-caps/take-today.ts';
import type { Queryable, Transaction } from '../kernel/db/database.ts';
import { limitsPerNetwork } from '../kernel/http/client-address.ts';
import type { Problem } from '../kernel/http/problem.ts';
import { accountErrors } from './errors.ts';

export interface CountedRegistration {
  readonly ip: string;
  /** New accounts per day from one network; 0 is unlimited. */
  readonly perNetwork: number;
}

/**
 * Checks the cap before the password is hashed and a wallet is created. Only `countRegistration`, in the transaction,
 * is binding.
 */
export async function refuseRegistrationBeyondCap(db: Queryable, registration: CountedRegistration): Promise<void> {
  for (const { scope, limit } of countedUnder(registration)) {
    if ((await takenToday(db, scope)) >= limit) throw await tooMany(db);
  }
}

/**
 * Counts a new account in the transaction that inserts it, so that a failed registration is not counted. Call it late:
 * other registrations from the same network wait for the commit.
 */
export async function countRegistration(tx: Transaction, registration: CountedRegistration): Promise<void> {
  for (const counted of countedUnder(registration)) {
    if ((await takeToday(tx, counted)) === undefined) throw await tooMany(tx);
  }
}

/** Always the narrower network first, so that two registrations cannot deadlock. */
function countedUnder({ ip, perNetwork }: CountedRegistration) {
  if (perNetwork === 0) return [];
  return limitsPerNetwork(ip, perNetwork).map(({ network, limit }) => ({
    scope: `registrations:network:${network}`,
    limit,
  }));
}

async function tooMany(db: Queryable): Promise<Problem> {
  const seconds = await secondsLeftToday(db);
  return accountErrors.too_many_registrations(undefined, { headers: { 'Retry-After': String(seconds) } });
}
