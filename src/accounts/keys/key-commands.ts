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

/** `paywright account keys|revoke-keys`: for somebody who has lost control of their account. */
export function addKeyCommands(account: Command, { withDatabase, say, operator, onKeysEnded }: KeyCommandTools): void {
  account
    .command('keys <who>')
    .description('the API keys of an account that can still be used')
    .action((who: string) =>
      withDatabase(async (db, { idleMs }) => {
        const accountId = await findId(db, who);
        const keys = await listLiveKeys(db, { accountId, clock: systemClock, idleMs, limit: mostShown });
        for (const key of keys.slice(0, mostShown)) say(describe(key, { idleMs }));
        if (keys.length > mostShown) say('There are more, which are older.');
        if (keys.length === 0) say(`${who} has no key that can be used.`);
      }),
    );

  account
    .command('revoke-keys <who>')
    .description('end every API key of an account; its owner signs in for a new one')
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
        say(`${who} has no key any more; ${endedBefore + done.ended} ended now.`);
        for (const { id, url } of done.webhooks) {
          say(printable(`Its webhook ${id} to ${url} ${webhooks === 'end' ? 'has ended.' : 'goes on.'}`));
        }
      }),
    );
}

/** Its name was chosen by its owner: whatever might steer the operator's terminal is shown as an escape. */
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
