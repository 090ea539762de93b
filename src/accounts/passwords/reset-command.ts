import type { Command } from 'commander';
import type { Database } from '../../kernel/db/database.ts';
import { enqueue } from '../../kernel/jobs/define-job.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { recordAudit } from '../audit/record.ts';
import type { AccountTools } from '../commands.ts';
import { findId } from '../find-account.ts';
import { mailReset } from './mail-reset.ts';
import { issueResetToken, tokenMinutes } from './reset-token.ts';

/** `paywright account reset-password`: for an owner whose mails do not arrive or, with --show, who has lost the mailbox. */
export function addResetCommand(account: Command, { withDatabase, withSecrets, say, operator }: AccountTools): void {
  account
    .command('reset-password <who>')
    .description('mail a password reset token')
    .option('--show', 'show the token here instead, for an owner who has lost the mailbox')
    .action((who: string, { show }: { show?: true }) =>
      show === true
        ? withSecrets(async ({ db, secrets }) => {
            const { id } = await findWithEmail(db, who);
            const token = await db.transaction(async (tx) => {
              await tx.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [id]);
              await recordAudit(tx, {
                accountId: id,
                action: 'password.reset_asked',
                by: { operator },
                details: { shownToOperator: true },
              });
              return issueResetToken(tx, secrets, { accountId: id, kind: 'reset' });
            });
            say(token);
            say(`Valid for ${tokenMinutes} minutes, once, with POST /account/password/reset/confirm.`);
          })
        : withDatabase(async (db) => {
            const { email } = await findWithEmail(db, who);
            await enqueue(db, mailReset, { email, operator });
            say('A mail with a reset token is on its way.');
          }),
    );
}

async function findWithEmail(db: Database, who: string): Promise<{ readonly id: bigint; readonly email: string }> {
  const id = await findId(db, who);
  const { rows } = await db.query<{ email: string | null }>('SELECT email FROM accounts WHERE id = $1', [id]);
  const email = rows[0]?.email ?? undefined;
  if (email === undefined)
    throw new Refusal(`${who} has no email, so a password is of no use: use paywright account give-key.`);
  return { id, email };
}
