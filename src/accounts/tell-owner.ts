import type { Transaction } from '../kernel/db/database.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import { postMessage } from './messages/outbox.ts';

export interface Notice {
  readonly subject: string;
  readonly text: string;
}

/** Good advice also where somebody has changed the password already. */
const notYou =
  'If this was not you, set a new password at once: POST /account/password/reset mails you a token for it, whatever the password is by now. End all keys with it (revokeKeys), or with POST /account/keys/revoke-all.';

/** Mails the owner about a sensitive change, in its commit. An email that nobody has verified may be somebody else's: it gets none. */
export async function tellOwner(
  tx: Transaction,
  secrets: Secrets,
  accountId: bigint,
  { subject, text }: Notice,
): Promise<void> {
  const { rows } = await tx.query<{ email: string }>(
    'SELECT email FROM accounts WHERE id = $1 AND email IS NOT NULL AND email_verified_at IS NOT NULL',
    [accountId],
  );
  const [owner] = rows;
  if (owner === undefined) return;
  await postMessage(tx, secrets, {
    accountId,
    channel: 'email',
    to: owner.email,
    subject,
    text: `${text}\n\n${notYou}`,
  });
}
