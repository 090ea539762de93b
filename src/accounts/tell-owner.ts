import type { Transaction } from '../kernel/db/database.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import { postMessage } from './messages/outbox.ts';

export interface Notice {
  readonly subject: string;
  readonly text: string;
}

/** Works even if a thief has already changed the password. */
const notYou =
  'If this was not you, set a new password at once: POST /account/password/reset mails you a token, even if the password was changed. Revoke all keys with it (revokeKeys) or with POST /account/keys/revoke-all.';

/**
 * Mails the owner about a sensitive change, in the same commit. An unverified email may belong to somebody else, so it
 * gets no mail.
 */
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
