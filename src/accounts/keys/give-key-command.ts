import type { Command } from 'commander';
import { type Database, onlyRow } from '../../kernel/db/database.ts';
import type { Scope } from '../../kernel/http/define-route.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { claimsOf } from '../../ledger/balances.ts';
import { recordAudit } from '../audit/record.ts';
import { findId } from '../find-account.ts';
import { issueKey } from './issue-key.ts';

interface Tools {
  withSecrets(work: (parts: { readonly db: Database; readonly secrets: Secrets }) => Promise<void>): Promise<void>;
  say(line: string): void;
  readonly operator: string;
}

const name = 'From the operator';

/** For what arrived after an account was closed: it can be paid out, and the account stays closed. */
const payOut: readonly Scope[] = ['read', 'pay', 'withdraw'];
const payOutMs = 24 * 60 * 60_000;

/**
 * `paywright account give-key`: an account whose email went to whoever proved the mailbox has its keys and no other way in. Without this
 * its money would stay where it is for ever once the last of them has ended. Who has an email signs in. A closed account that holds money
 * gets a key for a day, to pay it out.
 */
export function addGiveKeyCommand(account: Command, { withSecrets, say, operator }: Tools): void {
  account
    .command('give-key <who>')
    .description('show a new API key for an account that has no email to sign in with, or was closed and holds money')
    .action((who: string) =>
      withSecrets(async ({ db, secrets }) => {
        const accountId = await findId(db, who);
        const key = await db.transaction(async (tx) => {
          const { email, closed } = onlyRow(
            await tx.query<{ email: string | null; closed: boolean }>(
              'SELECT email, closed_at IS NOT NULL AS closed FROM accounts WHERE id = $1 FOR NO KEY UPDATE',
              [accountId],
            ),
          );
          if (closed && (await claimsOf(tx, accountId)).length === 0)
            throw new Refusal(`${who} was closed by its owner and holds no money. No one is given a key for it.`);
          if (email !== null) throw new Refusal(`${who} has an email: see paywright account reset-password.`);
          const life = closed ? { scopes: payOut, expiresAt: new Date(Date.now() + payOutMs) } : {};
          const issued = await issueKey(tx, secrets, { accountId, name, ...life });
          const expiresAt = issued.expiresAt?.toISOString() ?? null;
          const details = { key: issued.id, name, scopes: issued.scopes, expiresAt };
          await recordAudit(tx, { accountId, action: 'key.created', by: { operator }, details });
          return issued;
        });
        say(key.apiKey);
        say(
          `${key.expiresAt === null ? 'It may do everything.' : 'It may read, pay and withdraw for 24 hours: the account is closed, and only what it holds can be paid out.'} Give it to nobody but the owner: it is shown this once.`,
        );
      }),
    );
}
