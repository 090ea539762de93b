import type { Command } from 'commander';
import { type Database, onlyRow, type Transaction } from '../db/database.ts';
import { lockOwner } from '../ledger/lock-owner.ts';
import { Refusal } from '../refusal.ts';
import { announceAccountChange } from './account-changes.ts';
import { readProfile } from './profile.ts';
import { setTier, tier as tierField } from './tier.ts';

type WithDatabase = (work: (db: Database) => Promise<void>) => Promise<void>;

/** `paywright account …`: what the operator does by hand. <who> is a handle or an email, verified or not. */
export function addAccountCommands(program: Command, withDatabase: WithDatabase, say: (line: string) => void): void {
  const account = program.command('account').description('look at an account, freeze it, change its tier');

  account
    .command('show <who>')
    .description('show an account')
    .action((who: string) =>
      withDatabase(async (db) => {
        const profile = await readProfile(db, await findId(db, who));
        for (const [name, value] of Object.entries(profile))
          say(`${name.padEnd(18)} ${value === null ? '-' : printable(String(value))}`);
      }),
    );

  account
    .command('freeze <who>')
    .description('stop an account from sending; it can still receive')
    .action((who: string) =>
      withDatabase((db) =>
        change(db, who, async (tx, id) => {
          await lockOwner(tx, id);
          await tx.query('UPDATE accounts SET frozen_at = coalesce(frozen_at, now()) WHERE id = $1', [id]);
          say(`${who} is frozen.`);
        }),
      ),
    );

  account
    .command('unfreeze <who>')
    .description('let a frozen account send again')
    .action((who: string) =>
      withDatabase((db) =>
        change(db, who, async (tx, id) => {
          await tx.query('UPDATE accounts SET frozen_at = NULL WHERE id = $1', [id]);
          say(`${who} is not frozen.`);
        }),
      ),
    );

  account
    .command('set-tier <who> <tier>')
    .description('free, pro or enterprise')
    .action((who: string, wanted: string) =>
      withDatabase((db) =>
        change(db, who, async (tx, id) => {
          const tier = tierField.safeParse(wanted);
          if (!tier.success) throw new Refusal(`The tier must be free, pro or enterprise, not "${wanted}".`);
          await setTier(tx, id, tier.data);
          say(`${who} is on the ${tier.data} tier.`);
        }),
      ),
    );
}

/** A name was chosen by its owner: whatever might steer the operator's terminal is shown as an escape. */
function printable(text: string): string {
  return text.replaceAll(/[^\P{C}]/gu, (character) => JSON.stringify(character).slice(1, -1));
}

/** The change and its announcement are one commit, so a running server hears of it exactly when it holds. */
async function change(db: Database, who: string, work: (tx: Transaction, id: bigint) => Promise<void>): Promise<void> {
  const id = await findId(db, who);
  await db.transaction(async (tx) => {
    await work(tx, id);
    await announceAccountChange(tx, id);
  });
}

async function findId(db: Database, who: string): Promise<bigint> {
  const result = await db.query<{ id: bigint }>(
    'SELECT id FROM accounts WHERE handle = upper($1) OR email = lower($1)',
    [who],
  );
  if (result.rowCount === 0) throw new Refusal(`No account has the handle or email "${who}".`);
  return onlyRow(result).id;
}
