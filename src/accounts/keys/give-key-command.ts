import type { Command } from 'commander';
import { onlyRow } from '../../kernel/db/database.ts';
import type { Scope } from '../../kernel/http/define-route.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { claimsOf } from '../../ledger/balances.ts';
import { recordAudit } from '../audit/record.ts';
import type { AccountTools } from '../commands.ts';
import { findId } from '../find-account.ts';
import { issueKey } from './issue-key.ts';

const name = 'From the operator';

/** For money that arrives after an account was closed: it can be paid out, and the account stays closed. */
const payOut: readonly Scope[] = ['read', 'pay', 'withdraw'];
const payOutMs = 24 * 60 * 60_000;

/**
 * `paywright account give-key`: an account that lost its unverified email has only its keys. Without this command its
 * money would be locked forever once the last key ends. An owner with an email signs in instead. A closed account with
 * money gets a key for one day, to pay it out.
 */
export function addGiveKeyCommand(
  account: Command,
  { withSecrets, say, operator }: Omit<AccountTools, 'withDatabase'>,
): void {
  account
    .command('give-key <who>')
    .description('create an API key for an account without an email, or for a closed account that holds money')
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
            throw new Refusal(`${who} was closed by its owner and holds no money, so it gets no key.`);
          if (email !== null) throw new Refusal(`${who} has an email: use paywright account reset-password.`);
          const life = closed ? { scopes: payOut, expiresAt: new Date(Date.now() + payOutMs) } : {};
          const issued = await issueKey(tx, secrets, { accountId, name, ...life });
          const expiresAt = issued.expiresAt?.toISOString() ?? null;
          const details = { key: issued.id, name, scopes: issued.scopes, expiresAt };
          await recordAudit(tx, { accountId, action: 'key.created', by: { operator }, details });
          return issued;
        });
        say(key.apiKey);
        say(
          `${key.expiresAt === null ? 'It has all scopes.' : 'It can read, pay and withdraw for 24 hours, to pay out the balance of the closed account.'} Give it only to the owner. It is not shown again.`,
        );
      }),
    );
}
