import { onlyRow, type Transaction, violates } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { recordAccountChanged } from '../account-events.ts';
import { type AuditActor, recordAudit } from '../audit/record.ts';
import { accountErrors } from '../errors.ts';
import { postMessage } from '../messages/outbox.ts';

interface Move {
  readonly accountId: bigint;
  /** The new address. The account has proved that it owns the mailbox. */
  readonly email: string;
}

/** Locks this account and the current holder of the email in id order, because two accounts may want each other's email. */
export async function lockForEmail(tx: Transaction, { accountId, email }: Move): Promise<void> {
  await tx.query('SELECT FROM accounts WHERE id = $1 OR email = $2 ORDER BY id FOR NO KEY UPDATE', [accountId, email]);
}

/** Sets the proved email in the caller's transaction. The caller has locked both accounts. */
export async function moveEmail(
  tx: Transaction,
  secrets: Secrets,
  { accountId, email, by }: Move & { readonly by: AuditActor },
): Promise<void> {
  await takeFromHolder(tx, { accountId, email }, by);
  const before = onlyRow(
    await tx.query<{ email: string | null; verified: boolean }>(
      'SELECT email, email_verified_at IS NOT NULL AS verified FROM accounts WHERE id = $1',
      [accountId],
    ),
  );
  try {
    await tx.query('UPDATE accounts SET email = $2, email_verified_at = now() WHERE id = $1', [accountId, email]);
  } catch (error) {
    if (violates(error, 'accounts_email_key'))
      throw accountErrors.email_taken('Another account registered this email at the same time. Try again.');
    throw error;
  }
  // Tokens and codes that were mailed to the old address become void.
  await tx.query('DELETE FROM password_resets WHERE account_id = $1', [accountId]);
  await tx.query("DELETE FROM verification_codes WHERE account_id = $1 AND kind = 'email'", [accountId]);
  await tx.query('DELETE FROM email_changes WHERE account_id = $1', [accountId]);
  await recordAudit(tx, { accountId, action: 'email.changed', by });
  await recordAccountChanged(tx, accountId, {
    fields: before.verified ? ['email'] : ['email', 'emailVerified'],
    by,
  });
  if (before.email !== null && before.verified) {
    await postMessage(tx, secrets, {
      accountId,
      channel: 'email',
      to: before.email,
      subject: 'The email of your Paywright account was changed',
      text: `The email of your Paywright account is ${email} from now on. Codes and password reset tokens go there, and you can no longer sign in with this address.\n\nIf this was not you, contact the operator of the service at once.`,
    });
  }
}

/** An account that verified the email keeps it. One that never did loses it, as in a password reset. */
async function takeFromHolder(tx: Transaction, { accountId, email }: Move, by: AuditActor): Promise<void> {
  const { rows } = await tx.query<{ id: bigint; verified: boolean }>(
    'SELECT id, email_verified_at IS NOT NULL AS verified FROM accounts WHERE email = $1 AND id <> $2 FOR NO KEY UPDATE',
    [email, accountId],
  );
  const [holder] = rows;
  if (holder === undefined) return;
  if (holder.verified) throw accountErrors.email_taken();
  await removeUnverifiedEmail(tx, holder.id, `to someone at ${by.address ?? 'an unknown address'}`);
}

/** Removes an unverified email from its account. Returns whether there was one. */
export async function removeUnverifiedEmail(tx: Transaction, accountId: bigint, note: string): Promise<boolean> {
  const { rowCount } = await tx.query(
    'UPDATE accounts SET email = NULL WHERE id = $1 AND email IS NOT NULL AND email_verified_at IS NULL',
    [accountId],
  );
  if (rowCount !== 1) return false;
  await tx.query("DELETE FROM verification_codes WHERE account_id = $1 AND kind = 'email'", [accountId]);
  await tx.query("DELETE FROM password_resets WHERE account_id = $1 AND kind = 'claim'", [accountId]);
  await recordAudit(tx, { accountId, action: 'email.yielded', by: {}, note });
  await recordAccountChanged(tx, accountId, { fields: ['email'], by: {} });
  return true;
}
