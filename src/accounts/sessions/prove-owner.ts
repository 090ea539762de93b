import type { Database } from '../../kernel/db/database.ts';
import { recordAudit } from '../audit/record.ts';
import { type OwnerSession, proveSession } from './owner-session.ts';
import { type SignInAccount, type SignInParts, signIn } from './sign-in.ts';

export type ProofParts = SignInParts;

interface Proof {
  readonly session: OwnerSession;
  readonly password: string;
  readonly ip: string;
}

/**
 * Asks the signed-in owner for the password again. Attempts are throttled, capped and recorded like those to sign in. False when the
 * session has ended meanwhile.
 */
export async function proveOwner(parts: ProofParts, { session, password, ip }: Proof): Promise<boolean> {
  const { accountId, id } = session;
  await parts.throttle.admitRegistration(ip);
  const account = await readOwner(parts.db, accountId);
  if (account === undefined) return false;
  return signIn(parts, account, { password, ip }, async (tx) => {
    if (!(await proveSession(tx, session))) return false;
    await recordAudit(tx, { accountId, action: 'session.proved', by: { address: ip }, details: { session: id } });
    return true;
  });
}

/** Undefined when the account was closed. */
async function readOwner(db: Database, accountId: bigint): Promise<SignInAccount | undefined> {
  const { rows } = await db.query<SignInAccount>(
    'SELECT id, email, tier, password_hash FROM accounts WHERE id = $1 AND closed_at IS NULL',
    [accountId],
  );
  return rows[0];
}
