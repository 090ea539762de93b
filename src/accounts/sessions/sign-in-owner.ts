import { randomBytes } from 'node:crypto';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { recordAudit } from '../audit/record.ts';
import { accountErrors } from '../errors.ts';
import { mailNewSignIn } from '../mail-owner.ts';
import type { Passwords } from '../passwords/passwords.ts';
import { endSession, findSession, openSession } from './owner-session.ts';
import { type SignInAccount, type SignInParts, signIn } from './sign-in.ts';

export interface OwnerSignInParts extends SignInParts {
  readonly secrets: Secrets;
  readonly passwords: Pick<Passwords, 'hash'>;
}

interface OwnerSignIn {
  readonly email: string;
  readonly password: string;
  readonly ip: string;
  readonly browser: string | undefined;
  /** The token of the browser's earlier session, which ends. */
  readonly formerToken: string | undefined;
}

/**
 * Signs the owner in on the pages and returns the token of the session. An unknown email is refused like a wrong password, with the
 * same throttle and after the same work. Attempts are counted like requests without a key over the API.
 */
export async function signInOwner(parts: OwnerSignInParts, asked: OwnerSignIn): Promise<string> {
  const { db, secrets } = parts;
  const { ip, browser, formerToken } = asked;
  await parts.throttle.admitRegistration(ip);
  const account = await findOwner(db, asked.email);
  if (account === undefined) {
    await parts.throttle.matches({ ...(await stranger(parts, asked.email)), ip, password: asked.password });
    throw accountErrors.wrong_password();
  }
  return signIn(parts, account, asked, async (tx) => {
    if (formerToken !== undefined) await endFormer(tx, secrets, formerToken);
    const accountId = account.id;
    const { id, token } = await openSession(tx, secrets, { accountId, address: ip, browser });
    await mailNewSignIn(tx, secrets, { accountId, ip });
    await recordAudit(tx, { accountId, action: 'session.started', by: { address: ip }, details: { session: id } });
    return token;
  });
}

const decoys = new WeakMap<OwnerSignInParts['passwords'], Promise<string>>();

/** Stands for an account that does not exist: the same for the same email, with a hash that no password matches. */
async function stranger({ secrets, passwords }: OwnerSignInParts, email: string) {
  const hash = decoys.get(passwords) ?? passwords.hash(randomBytes(32).toString('hex'), 'decoy');
  decoys.set(passwords, hash);
  hash.catch(() => decoys.delete(passwords));
  return { accountId: -secrets.hash('forms', `stranger ${email}`).readBigUInt64BE(), hash: await hash };
}

async function findOwner(db: Database, email: string): Promise<SignInAccount | undefined> {
  const { rows } = await db.query<SignInAccount>(
    'SELECT id, email, tier, password_hash FROM accounts WHERE email = $1',
    [email],
  );
  return rows[0];
}

/** It may belong to another account that was signed in with this browser. */
async function endFormer(tx: Transaction, secrets: Secrets, token: string): Promise<void> {
  const former = await findSession(tx, secrets, token);
  if (former !== undefined) await endSession(tx, former);
}
