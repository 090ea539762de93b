import type { Transaction } from '../kernel/db/database.ts';
import { networksOf } from '../kernel/http/client-address.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import { postMessage } from './messages/outbox.ts';

/** Older entries are ignored; at worst the owner gets one more mail. */
const entriesRead = 1_000;

interface SignIn {
  readonly accountId: bigint;
  readonly ip: string;
  /** The end of the key that the sign-in issues. Left out for a sign-in on the pages, which issues none. */
  readonly last4?: string;
  readonly with?: 'your password' | 'a passkey';
}

/**
 * Mails the owner about a sign-in from a network that the account was never used from, because the new key may
 * withdraw and the password may be stolen. Agents sign in all the time, so not every sign-in is mailed. Call it before
 * the sign-in is recorded.
 */
export async function mailNewSignIn(
  tx: Transaction,
  secrets: Secrets,
  { accountId, ip, last4, with: proof = 'your password' }: SignIn,
): Promise<void> {
  const { rows } = await tx.query<{ address: string }>(
    `SELECT DISTINCT l.address
       FROM (SELECT action, address FROM audit_log WHERE account_id = $1 ORDER BY id DESC LIMIT ${entriesRead}) l
      WHERE l.action IN ('account.registered', 'sign_in.succeeded', 'session.started') AND l.address IS NOT NULL`,
    [accountId],
  );
  const { nearest } = networksOf(ip);
  if (rows.some(({ address }) => networksOf(address).nearest === nearest)) return;
  await mailOwner(tx, secrets, accountId, {
    subject: 'New sign-in to your account',
    text: `Someone signed in with ${proof} from ${ip}, a network that was not used before${last4 === undefined ? '.' : `, and received an API key that ends in ${last4}. The key can withdraw money.`}`,
  });
}

export interface Notice {
  readonly subject: string;
  readonly text: string;
}

/** Works even if a thief has already changed the password. */
const notYou =
  'If this was not you, set a new password at once: POST /account/password/reset mails you a token, even if the password was changed. Revoke all keys with it (revokeKeys) or with POST /account/keys/revoke-all.';

/**
 * Mails the owner about a sensitive change, in the same commit. An unverified email may belong to someone else, so it
 * gets no mail.
 */
export async function mailOwner(
  tx: Transaction,
  secrets: Secrets,
  accountId: bigint,
  { subject, text }: Notice,
): Promise<void> {
  const owner = await findOwner(tx, accountId);
  if (owner === undefined) return;
  const mail = { channel: 'email', to: owner.email, subject, text: `${text}\n\n${notYou}` } as const;
  await postMessage(tx, secrets, { accountId, ...mail });
}

/** Undefined where the email is not verified. */
export async function findOwner(tx: Transaction, accountId: bigint) {
  const { rows } = await tx.query<{ email: string; handle: string }>(
    'SELECT email, handle FROM accounts WHERE id = $1 AND email IS NOT NULL AND email_verified_at IS NOT NULL',
    [accountId],
  );
  return rows[0];
}
