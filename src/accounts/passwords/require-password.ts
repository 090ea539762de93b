import { dailyCaps } from '../../kernel/daily-caps/count-today.ts';
import { takeToday } from '../../kernel/daily-caps/take-today.ts';
import { type Database, onlyRow, type Transaction } from '../../kernel/db/database.ts';
import { networksOf } from '../../kernel/http/client-address.ts';
import type { RateLimiter } from '../../kernel/rate-limit/limiter.ts';
import { type Client, recordAudit } from '../audit/record.ts';
import { accountErrors } from '../errors.ts';
import type { SignInThrottle } from './sign-in-throttle.ts';

const written = { limit: 20, windowMs: 3_600_000 };

interface Attempt {
  readonly accountId: bigint;
  readonly by: Client;
}

type RecordFailure = (failure: Attempt) => Promise<void>;

/**
 * Limited per network and hour, and per account and day, so that strangers can neither flood the owner's audit log nor
 * fill the disk.
 */
export function createFailureRecorder({ db, limiter }: { db: Database; limiter: RateLimiter }): RecordFailure {
  return async ({ accountId, by }) => {
    const { nearest, wider = nearest } = networksOf(by.address);
    const { allowed, remaining } = await limiter.take(`failures-noted:${accountId}:${wider}`, written);
    if (!allowed) return;
    const details = remaining === 0 ? { more: 'Further failures from this network are not recorded for an hour.' } : {};
    await db.transaction(async (tx) => {
      const scope = `failedSignIns:account:${accountId}`;
      if ((await takeToday(tx, { scope, limit: dailyCaps.failedSignIns.most })) === undefined) return;
      await recordAudit(tx, { accountId, action: 'sign_in.failed', by, details });
    });
  };
}

export interface PasswordGuard {
  readonly db: Database;
  readonly throttle: SignInThrottle;
  readonly noteFailure: RecordFailure;
}

export interface ProvedAccount {
  readonly email: string | null;
  readonly emailVerified: boolean;
  readonly handle: string;
  readonly name: string;
  /** Compare it again in the transaction (`requireSamePassword`), because the password may change in between. */
  readonly hash: string;
}

/**
 * For actions that a stolen key alone must not perform. Wrong passwords count as at sign-in: they slow their network
 * down and are recorded.
 */
export async function requirePassword(
  { db, throttle, noteFailure }: PasswordGuard,
  { accountId, password, by }: Attempt & { readonly password: string },
): Promise<ProvedAccount> {
  const account = onlyRow(
    await db.query<ProvedAccount>(
      `SELECT email, email_verified_at IS NOT NULL AS email_verified, handle, name, password_hash AS hash
         FROM accounts WHERE id = $1`,
      [accountId],
    ),
  );
  if (await throttle.matches({ accountId, ip: by.address, hash: account.hash, password })) return account;
  await noteFailure({ accountId, by });
  throw accountErrors.wrong_password('The password does not match the current password of the account.');
}

/** Refuses a request whose password was changed concurrently. Locks the account's row. */
export async function requireSamePassword(tx: Transaction, accountId: bigint, hash: string): Promise<void> {
  const same = 'SELECT FROM accounts WHERE id = $1 AND password_hash = $2 FOR NO KEY UPDATE';
  if ((await tx.query(same, [accountId, hash])).rowCount === 1) return;
  throw accountErrors.wrong_password(
    'Another request changed the password at the same time. Try again with the new password.',
  );
}
