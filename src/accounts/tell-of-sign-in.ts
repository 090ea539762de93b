import type { Transaction } from '../kernel/db/database.ts';
import { networksOf } from '../kernel/http/client-address.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import { tellOwner } from './tell-owner.ts';

/** Older entries are ignored; at worst the owner gets one more mail. */
const entriesRead = 1_000;

interface SignIn {
  readonly accountId: bigint;
  readonly ip: string;
  /** The end of the key that the sign-in issues. */
  readonly last4: string;
}

/**
 * Mails the owner about a sign-in from a network that the account was never used from, because the new key may
 * withdraw and the password may be stolen. Agents sign in all the time, so not every sign-in is mailed. Call it before
 * the sign-in is recorded.
 */
export async function tellOfSignIn(tx: Transaction, secrets: Secrets, { accountId, ip, last4 }: SignIn): Promise<void> {
  const { rows } = await tx.query<{ address: string }>(
    `SELECT DISTINCT l.address
       FROM (SELECT action, address FROM audit_log WHERE account_id = $1 ORDER BY id DESC LIMIT ${entriesRead}) l
      WHERE l.action IN ('account.registered', 'sign_in.succeeded') AND l.address IS NOT NULL`,
    [accountId],
  );
  const { nearest } = networksOf(ip);
  if (rows.some(({ address }) => networksOf(address).nearest === nearest)) return;
  await tellOwner(tx, secrets, accountId, {
    subject: 'New sign-in to your account',
    text: `Somebody signed in with your password from ${ip}, a network that was not used before, and received an API key that ends in ${last4}. The key can withdraw money.`,
  });
}
