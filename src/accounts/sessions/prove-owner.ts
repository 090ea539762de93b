import type { Transaction } from '../../kernel/db/database.ts';
import { recordAudit } from '../audit/record.ts';
import { checkPasskey, type PasskeyAnswer } from '../second-factor/passkey.ts';
import type { UsedFactor } from '../second-factor/require-second-factor.ts';
import { type OwnerSession, proveSession } from './owner-session.ts';
import { enter, type SignInParts, signIn } from './sign-in.ts';
import { findOwner } from './sign-in-owner.ts';

export type ProofParts = SignInParts;

/** The password, and a code where the account has a second factor; or a passkey alone. */
export type GivenProof =
  | { readonly password: string; readonly otp?: string | undefined }
  | { readonly passkey: PasskeyAnswer };

interface Proof {
  readonly session: OwnerSession;
  readonly given: GivenProof;
  readonly ip: string;
}

/**
 * Asks the signed-in owner again for what signing in takes. Attempts are throttled, capped and recorded like those to sign in. False when
 * the session has ended meanwhile.
 */
export async function proveOwner(parts: ProofParts, { session, given, ip }: Proof): Promise<boolean> {
  const { accountId, id } = session;
  await parts.throttle.admitRegistration(ip);
  const account = await findOwner(parts.db, 'id', accountId);
  if (account === undefined) return false;
  const prove = async (tx: Transaction, steps: readonly (UsedFactor | 'password' | undefined)[]) => {
    if (!(await proveSession(tx, session))) return false;
    const details = { session: id, with: steps.filter((step) => step !== undefined) };
    await recordAudit(tx, { accountId, action: 'session.proved', by: { address: ip }, details });
    return true;
  };
  if ('passkey' in given) {
    const passkey = await checkPasskey(parts.db, parts, given.passkey);
    return enter(parts, account, { ip, factor: { passkey } }, (tx, used) => prove(tx, [used]));
  }
  const { password, otp } = given;
  const factor = otp === undefined ? undefined : { otp };
  return signIn(parts, account, { password, ip, factor }, (tx, used) => prove(tx, ['password', used]));
}
