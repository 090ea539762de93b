import type { NewWallet } from '../custody/wallets/provider.ts';
import { secondsLeftToday, takenToday, takeToday } from '../kernel/daily-caps/take-today.ts';
import type { Database, Queryable, Transaction } from '../kernel/db/database.ts';
import { limitsPerNetwork, networksOf } from '../kernel/http/client-address.ts';
import type { Caller } from '../kernel/http/define-route.ts';
import { httpErrors } from '../kernel/http/errors.ts';
import type { Problem } from '../kernel/http/problem.ts';
import { recordAudit } from './audit/record.ts';
import { accountErrors } from './errors.ts';
import { insertAccount, withWallet } from './insert-account.ts';
import { formatKeyEnd } from './keys/key-lifetime.ts';
import { issueKey } from './keys/make-key.ts';
import type { IssuedKey } from './keys/shown-key.ts';
import { mailNewSignIn } from './mail-owner.ts';
import type { AccountParts } from './parts.ts';
import { isTooCommon } from './passwords/common-passwords.ts';
import type { PasswordGuard } from './passwords/require-password.ts';
import { type SignInAccount, signIn } from './sessions/sign-in.ts';

type Counted = ReturnType<typeof countedUnder>;

/**
 * Checks the cap before the password is hashed and a wallet is created. Only `countRegistration`, in the transaction,
 * is binding.
 */
async function refuseRegistrationBeyondCap(db: Queryable, counted: Counted): Promise<void> {
  for (const { scope, limit } of counted) if ((await takenToday(db, scope)) >= limit) throw await tooMany(db);
}

/**
 * Counts a new account in the transaction that inserts it, so that a failed registration is not counted. Call it late:
 * other registrations from the same network wait for the commit.
 */
async function countRegistration(tx: Transaction, counted: Counted): Promise<void> {
  for (const one of counted) if ((await takeToday(tx, one)) === undefined) throw await tooMany(tx);
}

/**
 * Always the narrower network first, so that two registrations cannot deadlock. The operator vouches for enterprise
 * accounts: their registrations have no cap.
 */
function countedUnder({ registrationsPerNetwork: most }: RegisterParts, { ip, caller }: Registration) {
  if (most === 0 || caller?.tier === 'enterprise') return [];
  return limitsPerNetwork(ip, most).map(({ network, limit }) => ({ scope: `registrations:network:${network}`, limit }));
}

async function tooMany(db: Queryable): Promise<Problem> {
  const seconds = await secondsLeftToday(db);
  return accountErrors.too_many_registrations(undefined, { headers: { 'Retry-After': String(seconds) } });
}

interface Registration {
  readonly email: string;
  readonly password: string;
  readonly name?: string | undefined;
  /** The second factor, for an account that has one. */
  readonly otp?: string | undefined;
  readonly ip: string;
  /** The caller, if the request had a key. Such a request was not counted against its address. */
  readonly caller: Pick<Caller, 'tier'> | undefined;
}

export interface Registered {
  readonly apiKey: string;
  /** Null when it does not expire. */
  readonly keyExpiresAt: string | null;
  readonly handle: string;
  readonly email: string;
  readonly walletId: string;
  readonly depositAddress: string;
  readonly isNewAccount: boolean;
  readonly emailVerified: boolean;
}

type RegisterParts = PasswordGuard &
  Pick<
    AccountParts,
    | 'limiter'
    | 'clock'
    | 'secrets'
    | 'passwords'
    | 'verification'
    | 'wallets'
    | 'idleMs'
    | 'logger'
    | 'registrationsPerNetwork'
  >;

/** Registers a new account, or signs in to the existing one with this email. Both return a new API key. */
export async function register(parts: RegisterParts, registration: Registration): Promise<Registered> {
  const { db, passwords } = parts;
  if (registration.caller !== undefined) await parts.throttle.admitRegistration(registration.ip);
  const known = await findCredentials(db, registration.email);
  if (known !== undefined) return signInWithKey(parts, known, registration);

  const { name } = registration;
  if (name === undefined) {
    throw httpErrors.invalid_request('name is required for new accounts.', {
      errors: [{ path: 'name', message: 'is required for new accounts' }],
    });
  }
  // Checked only for new accounts: an accepted password must keep working.
  if (isTooCommon(registration.password, { email: registration.email, name }))
    throw accountErrors.password_too_common();
  await refuseRegistrationBeyondCap(db, countedUnder(parts, registration));
  const passwordHash = await passwords.hash(registration.password, networksOf(registration.ip).nearest);
  const created = await withWallet(parts, (tx, wallet) =>
    createAccount(tx, parts, { ...registration, name, passwordHash, wallet }),
  );
  if (created !== undefined) return created;

  // Another request registered the same email meanwhile, so this is a sign-in.
  const winner = await findCredentials(db, registration.email);
  // The account was closed since.
  if (winner === undefined) throw httpErrors.unavailable();
  return signInWithKey(parts, winner, registration);
}

interface Credentials extends SignInAccount {
  readonly handle: string;
  readonly emailVerified: boolean;
  readonly walletId: string;
  readonly address: string;
}

async function findCredentials(db: Database, email: string): Promise<Credentials | undefined> {
  const { rows } = await db.query<Credentials>(
    `SELECT a.id, a.handle, a.email, a.tier, a.password_hash, a.email_verified_at IS NOT NULL AS email_verified,
            w.id AS wallet_id, w.address
       FROM accounts a JOIN wallets w ON w.account_id = a.id AND w.chain = 'MATIC' AND w.retired_at IS NULL
      WHERE a.email = $1`,
    [email],
  );
  return rows[0];
}

async function signInWithKey(
  parts: RegisterParts,
  account: Credentials,
  registration: Registration,
): Promise<Registered> {
  const { secrets, idleMs } = parts;
  const { ip, password, otp } = registration;
  const factor = otp === undefined ? undefined : { otp };
  const key = await signIn(parts, account, { ip, password, factor }, async (tx) => {
    const issued = await issueKey(tx, secrets, { accountId: account.id, name: 'Sign-in' });
    await mailNewSignIn(tx, secrets, { accountId: account.id, ip, last4: issued.last4 });
    const by = { keyId: issued.id, address: ip };
    await recordAudit(tx, { accountId: account.id, action: 'sign_in.succeeded', by });
    return issued;
  });
  const { handle, email, walletId, address: depositAddress, emailVerified } = account;
  return { ...answerKey(key, idleMs), handle, email, walletId, depositAddress, isNewAccount: false, emailVerified };
}

interface NewAccount extends Registration {
  readonly name: string;
  readonly passwordHash: string;
  readonly wallet: NewWallet;
}

/** Creates account, wallet, key and the verification mail in one commit. Returns undefined when the email was just taken. */
async function createAccount(
  tx: Transaction,
  parts: RegisterParts,
  account: NewAccount,
): Promise<Registered | undefined> {
  const { secrets, verification, wallets, idleMs } = parts;
  const inserted = await insertAccount(tx, wallets.name, account);
  if (inserted === undefined) return undefined;
  const { id, handle, walletId, address } = inserted;
  const key = await issueKey(tx, secrets, { accountId: id, name: 'Registration' });
  const by = { keyId: key.id, address: account.ip };
  await recordAudit(tx, { accountId: id, action: 'account.registered', by });
  // Last, because others may wait for what these count.
  await countRegistration(tx, countedUnder(parts, account));
  const contact = { accountId: id, kind: 'email', target: account.email, by } as const;
  const { isVerified: emailVerified } = await verification.beginIfPossible(tx, contact);
  const answer = { handle, email: account.email, walletId, depositAddress: address, emailVerified };
  return { ...answerKey(key, idleMs), ...answer, isNewAccount: true };
}

function answerKey({ apiKey, createdAt, expiresAt }: IssuedKey, idleMs: number) {
  const times = { expiresAt, lastUsedAt: null, createdAt };
  return { apiKey, keyExpiresAt: formatKeyEnd(times, { idleMs }) };
}
