import { z } from 'zod';
import type { Transaction } from '../../kernel/db/database.ts';
import { defineJob, enqueue, handleJob, type JobHandler } from '../../kernel/jobs/define-job.ts';
import { type AuditEntry, recordAudit } from '../audit/record.ts';
import { accountErrors } from '../errors.ts';
import { countMessage } from '../messages/message-limits.ts';
import { postMessage } from '../messages/outbox.ts';
import type { AccountParts } from '../parts.ts';
import { issueResetToken, type ResetToken, tokenMinutes } from './reset-token.ts';

/** Requested by a stranger from an address, or by the operator, who is not limited. */
export const mailReset = defineJob({
  name: 'mail-password-reset',
  payload: z.object({ email: z.string(), address: z.string().optional(), operator: z.string().optional() }),
  maxAttempts: 8,
});

export type MailResetParts = Pick<AccountParts, 'db' | 'secrets' | 'logger' | 'publicUrl' | 'resetLimits'>;

type Asked = z.output<typeof mailReset.payload>;

/** A retry mails another token, which voids the previous one: no worse than a second request. */
export function mailResetHandler(parts: MailResetParts): JobHandler {
  return handleJob(mailReset, (asked) => parts.db.transaction((tx) => mail(tx, parts, asked)));
}

async function mail(tx: Transaction, parts: MailResetParts, asked: Asked): Promise<void> {
  const { secrets, publicUrl } = parts;
  const { rows } = await tx.query<{ id: bigint; verified: boolean }>(
    `SELECT id, email_verified_at IS NOT NULL AS verified FROM accounts WHERE email = $1 FOR NO KEY UPDATE`,
    [asked.email],
  );
  const [account] = rows;
  if (account === undefined) return;
  if (asked.operator === undefined && !(await mayMail(tx, parts, account.id, asked))) return;
  const reset: ResetToken = { accountId: account.id, kind: account.verified ? 'reset' : 'claim' };
  const token = await issueResetToken(tx, secrets, reset);
  await postMessage(tx, secrets, {
    // Mail to an unverified address must not be visible to the account that registered it.
    accountId: account.verified ? account.id : null,
    channel: 'email',
    to: asked.email,
    subject: account.verified ? 'A new password for Paywright' : 'Your email address at Paywright',
    text: textOf(reset, token, `${publicUrl()}/reset-password#${token}`),
  });
  await recordAudit(tx, entryOf(reset, asked));
}

/**
 * Limits mails per mailbox without locking the owner out: whenever nothing is mailed, a token that is valid for at
 * least another 15 minutes was mailed before.
 */
async function mayMail(
  tx: Transaction,
  { logger, resetLimits }: MailResetParts,
  accountId: bigint,
  { email }: Asked,
): Promise<boolean> {
  const { rowCount } = await tx.query(
    `SELECT FROM password_resets
      WHERE account_id = $1 AND made >= $2 AND counted_from > now() - interval '1 hour'
        AND created_at > now() - interval '15 minutes'`,
    [accountId, resetLimits.perMailbox],
  );
  if (rowCount === 1) return false;
  const limits = { perNetwork: 0, perTarget: 0, perCountry: 0, inAll: resetLimits.inAll };
  const over = await countMessage(tx, logger, limits, { kind: 'resets', ip: undefined, target: email });
  return over === undefined;
}

/** The address of a stranger who claims a mailbox is not disclosed to the account that registered it. */
function entryOf({ accountId, kind }: ResetToken, { address, operator }: Asked): AuditEntry {
  const action = 'password.reset_asked';
  if (operator !== undefined) return { accountId, action, by: { operator } };
  if (kind === 'reset') return { accountId, action, by: { address } };
  return { accountId, action, by: {}, note: `asked from ${address ?? 'nowhere'}` };
}

function textOf({ kind }: ResetToken, token: string, link: string): string {
  const what =
    kind === 'reset'
      ? 'Someone, probably you, requested a new password for your Paywright account. Set it here:'
      : 'Someone, probably you, requested a password for this email address at Paywright. An account was registered with this address, but the address was never verified. If you set a password here, you get a new account with this address; the other account keeps its handle, keys and money, and loses the address. If the other account is also yours and you have a key for it, verify its email instead (POST /account/email/code) and then request a password again.';
  return `${what}

${link}

Programs can send this token to POST /account/password/reset/confirm instead:

${token}

It is valid for ${tokenMinutes} minutes and can be used once. We will never ask you for it. If this was not you, ignore this mail: no one can set a password without the token.`;
}

/**
 * Requests a reset mail. A job looks the account up, so neither the response nor its timing reveals whether the email
 * has an account.
 */
export async function askReset(
  { db, logger, resetLimits }: Pick<MailResetParts, 'db' | 'logger' | 'resetLimits'>,
  { email, ip }: { readonly email: string; readonly ip: string },
): Promise<void> {
  const limits = { perNetwork: resetLimits.perNetwork, perTarget: 0, perCountry: 0, inAll: 0 };
  await db.transaction(async (tx) => {
    const over = await countMessage(tx, logger, limits, { kind: 'resets-asked', ip, target: email });
    if (over !== undefined) {
      const why = 'Your network has requested too many password resets today. Try again in an hour.';
      throw accountErrors.too_many_attempts(why, { headers: { 'Retry-After': '3600' } });
    }
    await enqueue(tx, mailReset, { email, address: ip });
  });
}
