import { capReached, dailyCaps } from '../../kernel/daily-caps/count-today.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import { accountErrors } from '../errors.ts';
import { countMessage } from '../messages/message-limits.ts';
import type { PasswordGuard } from '../passwords/require-password.ts';

export interface SignInAccount {
  readonly id: bigint;
  readonly email: string;
  readonly tier: Caller['tier'];
  readonly passwordHash: string;
}

interface SignInAttempt {
  readonly password: string;
  readonly ip: string;
}

export interface SignInParts extends PasswordGuard {
  readonly logger: Logger;
}

/**
 * Checks the password, and then runs `open` in the commit that signs in: with a key over the API, or with a session on the pages.
 * Wrong passwords are throttled and recorded, and sign-ins are capped.
 */
export async function signIn<Opened>(
  { db, throttle, noteFailure, logger }: SignInParts,
  account: SignInAccount,
  { password, ip }: SignInAttempt,
  open: (tx: Transaction) => Promise<Opened>,
): Promise<Opened> {
  const attempt = { accountId: account.id, ip, hash: account.passwordHash, password };
  if (!(await throttle.matches(attempt))) {
    await noteFailure({ accountId: account.id, by: { address: ip } });
    throw accountErrors.wrong_password();
  }
  return db.transaction(async (tx) => {
    await refuseStale(tx, account);
    await countSignIn(tx, logger, account, ip);
    return open(tx);
  });
}

/**
 * Each sign-in leaves a key or a session, and an audit entry forever, so sign-ins are capped. The cap is per network, so that a
 * thief who knows the password cannot lock the owner out elsewhere.
 */
async function countSignIn(tx: Transaction, logger: Logger, { id, tier }: SignInAccount, ip: string): Promise<void> {
  if (tier === 'enterprise') return;
  const limits = { perNetwork: dailyCaps.signIns.most, perTarget: 0, perCountry: 0, inAll: 0 };
  const over = await countMessage(tx, logger, limits, { kind: `signIns:${id}`, ip, target: '' });
  if (over !== undefined) throw await capReached(tx, 'signIns');
}

/**
 * Opens nothing if the password or the email changed during the check. A concurrent change that ends all keys and sessions waits
 * for this commit and ends this one too.
 */
async function refuseStale(tx: Transaction, { id, email, passwordHash }: SignInAccount): Promise<void> {
  const { rowCount } = await tx.query(
    'SELECT FROM accounts WHERE id = $1 AND email = $2 AND password_hash = $3 FOR SHARE',
    [id, email, passwordHash],
  );
  if (rowCount !== 1) throw accountErrors.wrong_password();
}
