import type { Command } from 'commander';
import { systemClock } from '../../kernel/clock.ts';
import { type Database, onlyRow } from '../../kernel/db/database.ts';
import type { Scope } from '../../kernel/http/define-route.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { printable } from '../../kernel/text/visible-text.ts';
import { claimsOf } from '../../ledger/balances.ts';
import { announceAccountChange } from '../account-changes.ts';
import { recordAudit } from '../audit/record.ts';
import type { AccountTools } from '../commands.ts';
import { findAccountId } from '../find-account.ts';
import { formatKeyEnd, type KeyIdleness } from './key-lifetime.ts';
import { issueKey } from './make-key.ts';
import type { OnKeysEnded } from './on-keys-ended.ts';
import { revokeAllKeys, revokeMostKeys } from './revoke-keys.ts';
import { type ListedKey, listLiveKeys } from './shown-key.ts';

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
        const accountId = await findAccountId(db, who);
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

export interface KeyCommandTools {
  withDatabase(work: (db: Database, settings: KeyIdleness) => Promise<void>): Promise<void>;
  say(line: string): void;
  readonly operator: string;
  readonly onKeysEnded: OnKeysEnded;
}

const mostShown = 1_000;

/** `paywright account keys|revoke-keys`: for an owner who has lost control of the account. */
export function addKeyCommands(account: Command, { withDatabase, say, operator, onKeysEnded }: KeyCommandTools): void {
  account
    .command('keys <who>')
    .description('list the working API keys of an account')
    .action((who: string) =>
      withDatabase(async (db, { idleMs }) => {
        const accountId = await findAccountId(db, who);
        const keys = await listLiveKeys(db, { accountId, clock: systemClock, idleMs, limit: mostShown });
        for (const key of keys.slice(0, mostShown)) say(describe(key, { idleMs }));
        if (keys.length > mostShown) say('There are more, older keys.');
        if (keys.length === 0) say(`${who} has no working key.`);
      }),
    );

  account
    .command('revoke-keys <who>')
    .description('revoke every API key of an account and end its sessions; its owner signs in again')
    .option('--end-webhooks', 'end its webhooks too')
    .action((who: string, options: { readonly endWebhooks?: true }) =>
      withDatabase(async (db) => {
        const accountId = await findAccountId(db, who);
        const webhooks = options.endWebhooks === true ? 'end' : 'keep';
        const by = { operator };
        const endedBefore = await revokeMostKeys(db, { accountId, by });
        const done = await db.transaction(async (tx) => {
          const result = await revokeAllKeys(tx, onKeysEnded, { accountId, webhooks, by });
          await announceAccountChange(tx, accountId);
          return result;
        });
        say(`Revoked all ${endedBefore + done.ended} keys of ${who}.`);
        for (const { id, url } of done.webhooks) {
          say(printable(`Its webhook ${id} to ${url} ${webhooks === 'end' ? 'has ended.' : 'stays.'}`));
        }
      }),
    );
}

/** The owner chose the name, so control characters are escaped. */
function describe(key: ListedKey, idleness: KeyIdleness): string {
  const used =
    key.lastUsedAt === null ? 'not seen in use' : `used ${key.lastUsedAt.toISOString()} from ${key.lastUsedFrom}`;
  const end = formatKeyEnd(key, idleness);
  return printable(
    [
      key.id,
      `…${key.last4}`,
      key.scopes.join(','),
      `made ${key.createdAt.toISOString()}`,
      used,
      end === null ? 'does not end' : `ends ${end}`,
      ...(key.parent === null ? [] : [`below ${key.parent}`]),
      ...(key.frozen ? ['frozen'] : []),
      ...(key.rotatedTo === null ? [] : [`replaced by ${key.rotatedTo}`]),
      key.name ?? '-',
    ].join('  '),
  );
}
