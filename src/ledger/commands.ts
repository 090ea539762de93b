import type { Command } from 'commander';
import type { Database } from '../kernel/db/database.ts';
import { usualPatience } from '../kernel/db/migration-lock.ts';
import { type CommandTools, commandGroup } from '../kernel/feature.ts';
import { Refusal } from '../kernel/refusal.ts';
import { archiveMonth, needsPostings } from './archive/archive-month.ts';
import { verifyArchive } from './archive/verify-archive.ts';
import { listArchives, listMonths } from './months.ts';
import { verifyLedger } from './verify.ts';

type Tools = Pick<CommandTools<unknown, unknown>, 'withDatabase' | 'withOwner' | 'confirm' | 'gatherHook' | 'say'>;
type Say = Tools['say'];

/** Short, because postings queue behind the command while it waits for their table. */
const lockMs = 500;

export function addLedgerCommands(program: Command, tools: Tools): void {
  const { withDatabase, withOwner, confirm, gatherHook, say } = tools;
  const ledger = commandGroup(program, 'ledger').description('verify the ledger, and archive its old months');

  ledger
    .command('verify')
    .description('read the whole ledger and prove that every balance follows from its postings')
    .action(() => withDatabase((db) => showVerification(db, say)));

  ledger
    .command('months')
    .description('list the months of the ledger, and those that are archived')
    .action(() => withDatabase((db) => showMonths(db, say)));

  ledger
    .command('archive <month>')
    .description('move the oldest month to a file, which is then its only copy')
    .requiredOption('--to <file>', 'the file to write, such as 2026_11.jsonl.gz')
    .option('--yes', 'do not ask')
    .action((name: string, { to: file, yes }: { readonly to: string; readonly yes?: true }) =>
      withOwner(async (owner) => {
        say(`This moves ${name} to ${file} and deletes it from the database. The file is then the only copy:`);
        say('histories end where it begins, and its statements are refused.');
        if (!(yes ?? (await confirm('Archive it? [y/N] ')))) throw new Refusal('Nothing was changed.');
        const patience = { ...usualPatience, lockMs, say };
        const needs = gatherHook(needsPostings);
        const { postings, entries, digest } = await archiveMonth({ ...owner, needs, patience }, { name, file });
        say(`${name} is archived: ${postings} postings with ${entries} entries, verified from the file.`);
        say(`SHA-256 of ${file}: ${digest}`);
        say('Keep copies of it in more than one place.');
      }),
    );

  ledger
    .command('verify-archive <file>')
    .description('verify an archived month from its file, without a database')
    .option('--digest <sha256>', 'the digest that "paywright ledger months" shows')
    .action((file: string, { digest }: { readonly digest?: string }) => showArchive(file, digest, say));
}

async function showVerification(db: Database, say: Say): Promise<void> {
  const { accounts, postings, entries, problems } = await verifyLedger(db);
  for (const problem of problems) say(problem);
  if (problems.length > 0) process.exitCode = 1;
  else say(`The ledger is sound: ${accounts} accounts, ${postings} postings, ${entries} entries.`);
}

async function showMonths(db: Database, say: Say): Promise<void> {
  for (const { name, from, to, postings, digest, archivedAt } of await listArchives(db)) {
    say(`${name.padEnd(9)}${bounds(from, to)}   archived at ${archivedAt}, ${postings} postings, SHA-256 ${digest}`);
  }
  for (const { name, from, to, aboutPostings, bytes } of await listMonths(db)) {
    const count = aboutPostings === null ? 'postings not counted yet' : `about ${aboutPostings} postings`;
    say(`${name.padEnd(9)}${bounds(from, to)}   ${count}, ${(Number(bytes) / 1e6).toFixed(1)} MB`);
  }
  say('');
  say('Numbers with "about" are from PostgreSQL\'s statistics. Those of archived months are exact.');
}

function bounds(from: string | null, to: string): string {
  return `${from === null ? 'the beginning'.padEnd(10) : from.slice(0, 10)} to ${to.slice(0, 10)}`;
}

async function showArchive(file: string, expected: string | undefined, say: Say): Promise<void> {
  const { header, postings, entries, accounts, digest, problems } = await verifyArchive(file);
  const found =
    expected === undefined || expected === digest
      ? problems
      : [...problems, `The file has the SHA-256 ${digest}, not ${expected}.`];
  for (const problem of found) say(problem);
  if (found.length > 0) {
    process.exitCode = 1;
    return;
  }
  say(`${header?.month} is sound: ${postings} postings, ${entries} entries, ${accounts} accounts.`);
  say(`From ${header?.from ?? 'the beginning'} to ${header?.to}, SHA-256 ${digest}`);
  if (header?.previous) say(`It continues the file with the SHA-256 ${header.previous}`);
}
