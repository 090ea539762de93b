import type { Transaction } from '../kernel/db/database.ts';
import { networksOf } from '../kernel/http/client-address.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import { tellOwner } from './tell-owner.ts';

/** What further back lies is forgotten: then somebody is told once more. */
const entriesRead = 1_000;

interface SignIn {
  readonly accountId: bigint;
  readonly ip: string;
  /** Of the key that it gives. */
  readonly last4: string;
}

/**
 * Mails the owner when somebody signs in from a network that nobody has registered or signed in from: the key may withdraw, and a
 * password may be stolen. Agents sign in all the time; of each one nobody would read the mail. Called before it is written down.
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
    subject: 'Somebody signed in to your account from a new place',
    text: `Somebody at ${ip} has signed in with your password, and was given an API key, which ends in ${last4}. It may send money to addresses outside.`,
  });
}
