import type { Transaction } from '../db/database.ts';
import { networksOf } from '../http/client-address.ts';
import type { Secrets } from '../secrets.ts';
import { tellOwner } from './tell-owner.ts';

/** How far back we look. Who signs in all the time does it from the same places. */
const latest = 1_000;

/**
 * Mails the owner when somebody signs in from a network that nobody has signed in from before: a password that was stolen gives a
 * key that may do everything. Part of the commit that makes the key, and before it is written down. An account from before there
 * was an audit log has nothing to compare with.
 */
export async function tellOfSignIn(
  tx: Transaction,
  secrets: Secrets,
  { accountId, ip }: { readonly accountId: bigint; readonly ip: string },
): Promise<void> {
  const { rows } = await tx.query<{ address: string }>(
    `SELECT DISTINCT address FROM (
       SELECT address FROM audit_log
        WHERE account_id = $1 AND action IN ('account.registered', 'sign_in.succeeded') AND address IS NOT NULL
        ORDER BY id DESC LIMIT $2) earlier`,
    [accountId, latest],
  );
  const here = networksOf(ip).nearest;
  if (rows.length === 0 || rows.some(({ address }) => networksOf(address).nearest === here)) return;
  await tellOwner(tx, secrets, accountId, {
    subject: 'Somebody signed in to your account from a new place',
    text: `A request from ${ip} knew your password, and was given an API key that may do everything. Nobody has signed in from there before.`,
  });
}
