import { z } from 'zod';
import type { Database, Transaction } from '../../kernel/db/database.ts';
import { defineJob, handleJob, type JobHandler } from '../../kernel/jobs/define-job.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { type AuditEntry, recordAudit } from '../audit/record.ts';
import { countMessage } from '../messages/daily-caps.ts';
import { postMessage } from '../messages/outbox.ts';
import type { ResetLimits } from './reset-limits.ts';
import { issueResetToken, type ResetToken, tokenMinutes } from './reset-token.ts';

/** Asked for by a stranger at an address, or by the operator, whom nothing limits. */
export const mailReset = defineJob({
  name: 'mail-password-reset',
  payload: z.object({ email: z.string(), address: z.string().optional(), operator: z.string().optional() }),
  maxAttempts: 8,
});

export interface MailResetParts {
  readonly db: Database;
  readonly secrets: Secrets;
  readonly logger: Logger;
  readonly publicUrl: () => string;
  readonly resetLimits: ResetLimits;
}

type Asked = z.output<typeof mailReset.payload>;

/** Run again it mails another token, which ends the one before: no worse than having asked twice. */
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
    // Whoever registered an address that is not theirs must not find its mail among their own.
    accountId: account.verified ? account.id : null,
    channel: 'email',
    to: asked.email,
    subject: account.verified ? 'A new password for Paywright' : 'Your email address at Paywright',
    text: textOf(reset, token, `${publicUrl()}/reset-password#${token}`),
  });
  await recordAudit(tx, entryOf(reset, asked));
}

/**
 * A mailbox is not flooded, and its owner not kept out by who tries to: when nothing is mailed, a token that is good for another
 * quarter of an hour was.
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

/** Where a stranger who proves a mailbox is, is not for whoever had registered it. */
function entryOf({ accountId, kind }: ResetToken, { address, operator }: Asked): AuditEntry {
  const action = 'password.reset_asked';
  if (operator !== undefined) return { accountId, action, by: { operator } };
  if (kind === 'reset') return { accountId, action, by: { address } };
  return { accountId, action, by: {}, note: `asked from ${address ?? 'nowhere'}` };
}

function textOf({ kind }: ResetToken, token: string, link: string): string {
  const what =
    kind === 'reset'
      ? 'Somebody, probably you, has asked for a new password for your Paywright account. Set it here:'
      : 'Somebody, probably you, has asked for a password for this email address at Paywright. An account was registered with the address, and nobody has ever proved that the address is theirs. If you set a password here, the address becomes yours, with a new account; the other one keeps its handle, its keys and its money, and loses the address. If the other one is yours too and you have a key for it, verify its email instead (POST /account/email/code), and then ask again.';
  return `${what}

${link}

Whoever writes programs sends this token to POST /account/password/reset/confirm instead:

${token}

It is good for ${tokenMinutes} minutes and can be used once. Nobody will ever ask you for it. If it was not you who asked, there is nothing to do: without this mail nobody can set anything.`;
}
