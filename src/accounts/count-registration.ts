import { secondsLeftToday, takenToday, takeToday } from '../kernel/daily-caps/take-today.ts';
import type { Queryable, Transaction } from '../kernel/db/database.ts';
import { busyNetworks, networksOf } from '../kernel/http/client-address.ts';
import type { Problem } from '../kernel/http/problem.ts';
import { accountErrors } from './errors.ts';

export interface CountedRegistration {
  readonly ip: string;
  /** New accounts on a day from one address network; 0 is without a limit. */
  readonly perNetwork: number;
}

/** Before the password is hashed and a wallet is made. It takes nothing: the commit has the last word. */
export async function refuseRegistrationBeyondCap(db: Queryable, registration: CountedRegistration): Promise<void> {
  for (const { scope, limit } of countedUnder(registration)) {
    if ((await takenToday(db, scope)) >= limit) throw await tooMany(db);
  }
}

/**
 * Counts a new account in the commit that inserts it, so that a registration which fails counts nothing. Call it late: other
 * registrations of the network wait for the commit.
 */
export async function countRegistration(tx: Transaction, registration: CountedRegistration): Promise<void> {
  for (const counted of countedUnder(registration)) {
    if ((await takeToday(tx, counted)) === undefined) throw await tooMany(tx);
  }
}

/** Always the nearest first, so that no two registrations wait for each other. */
function countedUnder({ ip, perNetwork }: CountedRegistration) {
  if (perNetwork === 0) return [];
  const { nearest, wider } = networksOf(ip);
  const own = { scope: `registrations:network:${nearest}`, limit: perNetwork };
  if (wider === undefined) return [own];
  return [own, { scope: `registrations:network:${wider}`, limit: busyNetworks * perNetwork }];
}

async function tooMany(db: Queryable): Promise<Problem> {
  const seconds = await secondsLeftToday(db);
  return accountErrors.too_many_registrations(undefined, { headers: { 'Retry-After': String(seconds) } });
}
