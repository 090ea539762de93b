import { capReached, dailyCaps } from '../../kernel/daily-caps/count-today.ts';
import type { Transaction } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import { accountErrors } from '../errors.ts';
import { countMessage } from '../messages/message-limits.ts';
import type { PasswordGuard } from '../passwords/require-password.ts';
import {
  type FactorParts,
  type GivenFactor,
  type UsedFactor,
  withSecondFactor,
} from '../second-factor/require-second-factor.ts';

export interface SignInAccount {
  readonly id: bigint;
  readonly email: string;
  readonly tier: Caller['tier'];
  readonly passwordHash: string;
}

interface SignInAttempt {
  readonly password: string;
  readonly ip: string;
  /** The second factor, for an account that has one. */
  readonly factor?: GivenFactor | undefined;
}

export interface SignInParts extends PasswordGuard, FactorParts {
  readonly logger: Logger;
}

/** Does what the sign-in is for, in its commit. */
type Open<Opened> = (tx: Transaction, used: UsedFactor | undefined) => Promise<Opened>;

/**
 * Checks the password, and then runs `open` in the commit that signs in: with a key over the API, or with a session on the pages.
 * Wrong passwords are throttled and recorded, and sign-ins are capped. An account with a second factor needs it as well.
 */
export async function signIn<Opened>(
  parts: SignInParts,
  account: SignInAccount,
  { password, ip, factor }: SignInAttempt,
  open: Open<Opened>,
): Promise<Opened> {
  const attempt = { accountId: account.id, ip, hash: account.passwordHash, password };
  if (!(await parts.throttle.matches(attempt))) {
    await parts.noteFailure({ accountId: account.id, by: { address: ip } });
    throw accountErrors.wrong_password();
  }
  return enter(parts, account, { ip, factor }, open);
}

/** The rest of a sign-in, after the password; or all of it, with a passkey. */
export function enter<Opened>(
  parts: SignInParts,
  account: SignInAccount,
  { ip, factor }: Omit<SignInAttempt, 'password'>,
  open: Open<Opened>,
): Promise<Opened> {
  const attempt = { accountId: account.id, where: 'sign-in', by: { address: ip }, given: factor } as const;
  return withSecondFactor(parts, attempt, (requireFactor) =>
    parts.db.transaction(async (tx) => {
      await refuseStale(tx, account);
      const used = await requireFactor(tx);
      await countSignIn(tx, parts.logger, account, ip);
      return open(tx, used);
    }),
  );
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
