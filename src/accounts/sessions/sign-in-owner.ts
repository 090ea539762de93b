import { randomBytes, timingSafeEqual } from 'node:crypto';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import { Problem } from '../../kernel/http/problem.ts';
import { type Secrets, tryOpen } from '../../kernel/secrets/secrets.ts';
import { recordAudit } from '../audit/record.ts';
import { accountErrors } from '../errors.ts';
import { mailNewSignIn } from '../mail-owner.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { factorErrors } from '../second-factor/errors.ts';
import { checkPasskey, type PasskeyAnswer } from '../second-factor/passkey.ts';
import type { UsedFactor } from '../second-factor/require-second-factor.ts';
import { endSession, findSession, openSession } from './owner-session.ts';
import { enter, type SignInAccount, type SignInParts, signIn } from './sign-in.ts';

export interface OwnerSignInParts extends SignInParts {
  readonly passwords: Pick<Passwords, 'hash'>;
}

interface Visitor {
  readonly ip: string;
  readonly browser: string | undefined;
  /** The token of the browser's earlier session, which ends. */
  readonly formerToken: string | undefined;
  /** The cookie of a visitor without a session. A sign-in with two steps is finished in the browser that began it. */
  readonly cookie: string;
}

/** The token of the new session; or what the second step needs, sealed so that it can be in a form. It opens nothing by itself. */
type SignedIn = { readonly token: string } | { readonly pending: string };

/**
 * Signs the owner in on the pages with the password. An unknown email is refused like a wrong password, with the same throttle and after
 * the same work. Attempts are counted like requests without a key over the API.
 */
export async function signInOwner(
  parts: OwnerSignInParts,
  asked: Visitor & { readonly email: string; readonly password: string },
): Promise<SignedIn> {
  const { email, password, ip } = asked;
  await parts.throttle.admitRegistration(ip);
  const account = await findOwner(parts.db, 'email', email);
  if (account === undefined) {
    await parts.throttle.matches({ ...(await stranger(parts, email)), ip, password });
    throw accountErrors.wrong_password();
  }
  try {
    return { token: await signIn(parts, account, { password, ip }, opening(parts, account.id, asked, ['password'])) };
  } catch (error) {
    if (!(error instanceof Problem) || error.code !== accountErrors.second_factor_required.code) throw error;
    return { pending: sealPending(parts, account, asked.cookie) };
  }
}

/** The second step. The password is not asked for again: the sealed text says that it was right. */
export async function finishSignIn(
  parts: OwnerSignInParts,
  asked: Visitor & {
    readonly pending: string;
    readonly given: { readonly otp: string } | { readonly passkey: PasskeyAnswer };
  },
): Promise<string> {
  const { ip, given } = asked;
  await parts.throttle.admitRegistration(ip);
  const account = await openPending(parts, asked);
  if (account === undefined) throw factorErrors.sign_in_expired();
  const factor = 'otp' in given ? given : { passkey: await checkPasskey(parts.db, parts, given.passkey) };
  return enter(parts, account, { ip, factor }, opening(parts, account.id, asked, ['password']));
}

/** Signs in with a passkey alone, which has verified its user. */
export async function signInWithPasskey(
  parts: OwnerSignInParts,
  asked: Visitor & { readonly passkey: PasskeyAnswer },
): Promise<string> {
  const { ip } = asked;
  await parts.throttle.admitRegistration(ip);
  const passkey = await checkPasskey(parts.db, parts, asked.passkey);
  const account = await findOwner(parts.db, 'id', passkey.accountId);
  if (account === undefined) throw factorErrors.passkey_refused();
  return enter(parts, account, { ip, factor: { passkey } }, opening(parts, account.id, asked, []));
}

/** Opens the session, in the commit of the sign-in. */
function opening(
  { secrets }: SignInParts,
  accountId: bigint,
  { ip, browser, formerToken }: Visitor,
  first: readonly 'password'[],
) {
  return async (tx: Transaction, used: UsedFactor | undefined): Promise<string> => {
    if (formerToken !== undefined) await endFormer(tx, secrets, formerToken);
    const { id, token } = await openSession(tx, secrets, { accountId, address: ip, browser });
    const steps = [...first, ...(used === undefined ? [] : [used])];
    await mailNewSignIn(tx, secrets, { accountId, ip, with: first.length > 0 ? 'your password' : 'a passkey' });
    const details = { session: id, with: steps };
    await recordAudit(tx, { accountId, action: 'session.started', by: { address: ip }, details });
    return token;
  };
}

const pendingMs = 5 * 60_000;

interface Pending {
  readonly account: string;
  /** Of the hash of the password, so that a changed password voids it. */
  readonly password: string;
  readonly cookie: string;
  readonly until: number;
}

/** Exported for its test. */
export function sealPending(
  { secrets, clock }: SignInParts,
  { id, passwordHash }: SignInAccount,
  cookie: string,
): string {
  const pending: Pending = {
    account: String(id),
    password: digest(secrets, passwordHash),
    cookie: digest(secrets, cookie),
    until: clock.now() + pendingMs,
  };
  return secrets.seal('sign-ins', JSON.stringify(pending)).toString('base64url');
}

/** The account whose password was right. Undefined when that is too long ago, was in another browser, or the password has changed. */
export async function openPending(
  { db, secrets, clock }: Pick<SignInParts, 'db' | 'secrets' | 'clock'>,
  { pending, cookie }: { readonly pending: string; readonly cookie: string },
): Promise<SignInAccount | undefined> {
  const text = tryOpen(secrets, 'sign-ins', Buffer.from(pending, 'base64url'));
  if (text === undefined) return undefined;
  const began = JSON.parse(text) as Pending;
  if (began.until < clock.now() || !isDigestOf(secrets, began.cookie, cookie)) return undefined;
  const account = await findOwner(db, 'id', BigInt(began.account));
  return account !== undefined && isDigestOf(secrets, began.password, account.passwordHash) ? account : undefined;
}

function digest(secrets: Secrets, text: string): string {
  return secrets.hash('forms', `sign-in ${text}`).toString('base64url');
}

function isDigestOf(secrets: Secrets, given: string, text: string): boolean {
  const bytes = Buffer.from(given, 'base64url');
  return secrets
    .hashes('forms', `sign-in ${text}`)
    .some((hash) => hash.length === bytes.length && timingSafeEqual(hash, bytes));
}

const decoys = new WeakMap<OwnerSignInParts['passwords'], Promise<string>>();

/** Stands for an account that does not exist: the same for the same email, with a hash that no password matches. */
async function stranger({ secrets, passwords }: OwnerSignInParts, email: string) {
  const hash = decoys.get(passwords) ?? passwords.hash(randomBytes(32).toString('hex'), 'decoy');
  decoys.set(passwords, hash);
  hash.catch(() => decoys.delete(passwords));
  return { accountId: -secrets.hash('forms', `stranger ${email}`).readBigUInt64BE(), hash: await hash };
}

/** Undefined also for a closed account, which has no email. */
export async function findOwner(
  db: Queryable,
  by: 'email' | 'id',
  value: string | bigint,
): Promise<SignInAccount | undefined> {
  const { rows } = await db.query<SignInAccount>(
    `SELECT id, email, tier, password_hash FROM accounts WHERE ${by} = $1 AND email IS NOT NULL`,
    [value],
  );
  return rows[0];
}

/** It may belong to another account that was signed in with this browser. */
async function endFormer(tx: Transaction, secrets: Secrets, token: string): Promise<void> {
  const former = await findSession(tx, secrets, token);
  if (former !== undefined) await endSession(tx, former);
}
