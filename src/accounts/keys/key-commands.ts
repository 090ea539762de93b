import type { Command } from 'commander';
import { systemClock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import { printable } from '../../kernel/text/printable.ts';
import { announceAccountChange } from '../account-changes.ts';
import { findId } from '../find-account.ts';
import { endAllKeys } from './end-keys.ts';
import { endMostKeys } from './end-most-keys.ts';
import { type KeyIdleness, tellEndOfKey } from './key-lifetime.ts';
import { type ListedKey, listLiveKeys } from './list-keys.ts';
import type { OnKeysEnded } from './on-keys-ended.ts';

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
        const accountId = await findId(db, who);
        const keys = await listLiveKeys(db, { accountId, clock: systemClock, idleMs, limit: mostShown });
        for (const key of keys.slice(0, mostShown)) say(describe(key, { idleMs }));
        if (keys.length > mostShown) say('There are more, older keys.');
        if (keys.length === 0) say(`${who} has no working key.`);
      }),
    );

  account
    .command('revoke-keys <who>')
    .description('revoke every API key of an account; its owner signs in for a new one')
    .option('--end-webhooks', 'end its webhooks too')
    .action((who: string, options: { readonly endWebhooks?: true }) =>
      withDatabase(async (db) => {
        const accountId = await findId(db, who);
        const webhooks = options.endWebhooks === true ? 'end' : 'keep';
        const by = { operator };
        const endedBefore = await endMostKeys(db, { accountId, by });
        const done = await db.transaction(async (tx) => {
          const result = await endAllKeys(tx, onKeysEnded, { accountId, webhooks, by });
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
  const end = tellEndOfKey(key, idleness);
  return printable(
    [
      key.id,
      `…${key.last4}`,
      key.scopes.join(','),
      `made ${key.createdAt.toISOString()}`,
      used,
      end === null ? 'does not end' : `ends ${end}`,
      ...(key.rotatedTo === null ? [] : [`replaced by ${key.rotatedTo}`]),
      key.name ?? '-',
    ].join('  '),
  );
}
