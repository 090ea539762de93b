import type { Command } from 'commander';
import type { Database, Transaction } from '../kernel/db/database.ts';
import { enqueue } from '../kernel/jobs/define-job.ts';
import { Refusal } from '../kernel/refusal.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import { printable } from '../kernel/text/visible-text.ts';
import { lockOwner } from '../ledger/require-live-key.ts';
import { announceAccountChange } from './account-changes.ts';
import { recordAccountChanged } from './account-events.ts';
import { recordAudit } from './audit/record.ts';
import { findAccountId } from './find-account.ts';
import { mailReset } from './passwords/mail-reset.ts';
import { issueResetToken, tokenMinutes } from './passwords/reset-token.ts';
import { readProfile, setTier, tier as tierField } from './profile.ts';
import { removeSecondFactor } from './second-factor/change-second-factor.ts';

export interface AccountTools {
  withDatabase(work: (db: Database) => Promise<void>): Promise<void>;
  withSecrets(work: (parts: { readonly db: Database; readonly secrets: Secrets }) => Promise<void>): Promise<void>;
  say(line: string): void;
  readonly operator: string;
}

/** `paywright account …`. <who> is a handle or an email, verified or not. Returns the command group. */
export function addAccountCommands(
  program: Command,
  { withDatabase, say, operator }: Omit<AccountTools, 'withSecrets'>,
): Command {
  const account = program
    .command('account')
    .description('show, freeze or change an account, revoke its keys, or restore access for its owner');

  account
    .command('show <who>')
    .description('show an account')
    .action((who: string) =>
      withDatabase(async (db) => {
        const id = await findAccountId(db, who);
        const profile = await readProfile(db, id);
        const { rows } = await db.query<{ at: Date | null }>('SELECT closed_at AS at FROM accounts WHERE id = $1', [
          id,
        ]);
        const closedAt = rows[0]?.at?.toISOString();
        if (closedAt !== undefined) say(`closed             ${closedAt}`);
        for (const [name, value] of Object.entries(profile))
          say(`${name.padEnd(18)} ${value === null ? '-' : printable(String(value))}`);
      }),
    );

  const setFrozen = (who: string, { frozen }: { readonly frozen: boolean }) =>
    withDatabase((db) =>
      change(db, who, async (tx, id) => {
        if (frozen) await lockOwner(tx, id);
        const { rowCount } = await tx.query(
          'UPDATE accounts SET frozen_at = CASE WHEN $2 THEN now() END WHERE id = $1 AND (frozen_at IS NULL) = $2',
          [id, frozen],
        );
        const action = frozen ? 'account.frozen' : 'account.unfrozen';
        await recordAudit(tx, { accountId: id, action, by: { operator } });
        if (rowCount === 1) await recordAccountChanged(tx, id, { fields: ['frozen'], by: { operator } });
        say(`${who} is ${frozen ? '' : 'not '}frozen.`);
      }),
    );
  account
    .command('freeze <who>')
    .description('freeze an account: it can receive but not send')
    .action((who: string) => setFrozen(who, { frozen: true }));
  account
    .command('unfreeze <who>')
    .description('let a frozen account send again')
    .action((who: string) => setFrozen(who, { frozen: false }));

  account
    .command('set-tier <who> <tier>')
    .description('free, pro or enterprise')
    .action((who: string, wanted: string) =>
      withDatabase((db) =>
        change(db, who, async (tx, id) => {
          const tier = tierField.safeParse(wanted);
          if (!tier.success) throw new Refusal(`The tier must be free, pro or enterprise, not "${wanted}".`);
          await setTier(tx, id, tier.data, { operator });
          say(`${who} is on the ${tier.data} tier.`);
        }),
      ),
    );
  return account;
}

/** The change and its announcement are one commit, so running instances hear of it exactly when it takes effect. */
async function change(db: Database, who: string, work: (tx: Transaction, id: bigint) => Promise<void>): Promise<void> {
  const id = await findAccountId(db, who);
  await db.transaction(async (tx) => {
    await work(tx, id);
    await announceAccountChange(tx, id);
  });
}

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

/** `paywright account remove-second-factor`: for an owner who has lost the phone, the passkeys and the recovery codes. */
export function addRemoveFactorCommand(account: Command, { withSecrets, say, operator }: AccountTools): void {
  account
    .command('remove-second-factor <who>')
    .description('remove the second factor of an owner who has lost it; be sure who asks')
    .action((who: string) =>
      withSecrets(async ({ db, secrets }) => {
        const accountId = await findAccountId(db, who);
        const had = await db.transaction((tx) => removeSecondFactor(tx, secrets, { accountId, by: { operator } }));
        say(had ? `${who} has no second factor any more.` : `${who} had no second factor.`);
      }),
    );
}

async function findWithEmail(db: Database, who: string): Promise<{ readonly id: bigint; readonly email: string }> {
  const id = await findAccountId(db, who);
  const { rows } = await db.query<{ email: string | null }>('SELECT email FROM accounts WHERE id = $1', [id]);
  const email = rows[0]?.email ?? undefined;
  if (email === undefined)
    throw new Refusal(`${who} has no email, so a password is of no use: use paywright account give-key.`);
  return { id, email };
}
