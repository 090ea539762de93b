import { resolve } from 'node:path';
import type pg from 'pg';
import { inTransaction, withClient } from '../../kernel/db/connection-settings.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { wasRejected } from '../../kernel/db/errors.ts';
import { tryHoldLock } from '../../kernel/db/locks.ts';
import { mayMigrate } from '../../kernel/db/migrate.ts';
import { type MigrationPatience, retryLockTimeouts, watchBlockers } from '../../kernel/db/migration-lock.ts';
import { defineHook } from '../../kernel/hook.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { timeText } from '../months.ts';
import type { VerifiedArchive } from './verify-archive.ts';
import { type MonthToWrite, writeArchive } from './write-archive.ts';

/** Reasons of other rooms to keep what was posted before a moment: whole sentences. */
export type NeedsPostings = (db: Queryable, before: string) => Promise<string[]>;
export const needsPostings = defineHook<NeedsPostings>();

export interface ArchiveOptions {
  /** Connects as the role that owns the tables. */
  readonly url: string;
  readonly db: Queryable;
  readonly needs: NeedsPostings;
  readonly patience: MigrationPatience;
  /** How long ago a month must have ended. Idempotency-Keys of its last day are kept for 48 hours. */
  readonly restMs?: number;
}

export interface ArchiveRequest {
  readonly name: string;
  readonly file: string;
}

const usualRestMs = 48 * 60 * 60_000;

/**
 * Moves the oldest month of the ledger to a file. Everything up to the last commit leaves the ledger as it was, and the
 * command can run again. After it, the file is the only copy.
 */
export async function archiveMonth(options: ArchiveOptions, { name, file }: ArchiveRequest): Promise<VerifiedArchive> {
  const { url, db, needs, patience, restMs = usualRestMs } = options;
  if (!(await mayMigrate(url)))
    throw new Refusal(
      'Only the role that owns the tables can archive a month: set MIGRATION_DATABASE_URL. Nothing was changed.',
    );
  const path = resolve(file);
  const limits = { statementMs: 0, lockMs: patience.lockMs, idleInTransactionMs: 60_000 };
  return withClient({ url, applicationName: 'paywright-archive', limits }, async (client) => {
    if (!(await tryHoldLock(client, 'ledgerArchive')))
      throw new Refusal('Another process is archiving a month. Wait for it and try again.');
    const month = await findArchivable(client, name, restMs);
    const reasons = [...(await waitingEvents(db, month.to)), ...(await needs(db, month.to))];
    if (reasons.length > 0) throw new Refusal([`${name} cannot be archived yet.`, ...reasons].join('\n'));
    const archive = await writeArchive(client, month, path);
    await dropPatiently({ client, url, patience }, { month, archive, path });
    return archive;
  });
}

interface MonthRow extends MonthToWrite {
  readonly isOldest: boolean;
  readonly isAmongLastTwo: boolean;
  readonly hasRested: boolean;
}

async function findArchivable(client: pg.Client, name: string, restMs: number): Promise<MonthToWrite> {
  const { rows } = await client.query<MonthRow>(
    `SELECT * FROM (
       SELECT name, ${timeText('from_at')} AS from, ${timeText('to_at')} AS to,
              (SELECT digest FROM ledger.archives ORDER BY to_at DESC LIMIT 1) AS previous,
              row_number() OVER (ORDER BY from_at) = 1 AS "isOldest",
              row_number() OVER (ORDER BY from_at DESC) <= 2 AS "isAmongLastTwo",
              to_at <= now() - make_interval(secs => $2::float8 / 1000) AS "hasRested"
         FROM ledger.months) m WHERE name = $1`,
    [name, restMs],
  );
  const [month] = rows;
  if (month === undefined)
    throw new Refusal(`There is no month ${name} in the ledger: "paywright ledger months" lists them.`);
  if (!month.isOldest) throw new Refusal(`${name} is not the oldest month. Months are archived oldest first.`);
  if (month.isAmongLastTwo) throw new Refusal(`${name} is one of the last two months, which stay in the ledger.`);
  if (!month.hasRested)
    throw new Refusal(
      `${name} ends at ${month.to}. A month can be archived ${restMs / 3_600_000} hours after its end.`,
    );
  return month;
}

async function waitingEvents(db: Queryable, before: string): Promise<string[]> {
  const { rows } = await db.query(
    'SELECT FROM ledger.events WHERE posting_id IS NOT NULL AND created_at < $1::timestamptz LIMIT 1',
    [before],
  );
  return rows.length === 0 ? [] : ['Webhook events of it wait to be delivered: the running service delivers them.'];
}

interface Dropping {
  readonly client: pg.Client;
  readonly url: string;
  readonly patience: MigrationPatience;
}

interface WrittenMonth {
  readonly month: MonthToWrite;
  readonly archive: VerifiedArchive;
  readonly path: string;
}

/** Postings queue behind a session that waits for their table, so each attempt waits only briefly. */
async function dropPatiently({ client, url, patience }: Dropping, written: WrittenMonth): Promise<void> {
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const blockers = await watchBlockers(url, rows[0]?.pid ?? 0);
  const waiting = { what: `The archive of ${written.month.name}`, whom: () => blockers.last() };
  try {
    await retryLockTimeouts(patience, waiting, () => inTransaction(client, () => dropMonth(client, written)));
  } catch (error) {
    if (error instanceof Refusal || wasRejected(error)) throw error;
    throw new Refusal(
      `The connection to the database was lost. "paywright ledger months" shows whether ${written.month.name} is archived: if it is, ${written.path} is the only copy. If not, run this again.`,
    );
  } finally {
    await blockers.stop();
  }
}

/** In one commit. Whatever postings wait for comes last. */
async function dropMonth(client: pg.Client, { month, archive }: WrittenMonth): Promise<void> {
  const [postings, entryRows] = ['postings', 'entry_rows'].map(
    (table) => `ledger.${client.escapeIdentifier(`${table}_${month.name}`)}`,
  );
  await client.query(`LOCK TABLE ${postings}, ${entryRows} IN SHARE MODE`);
  await refuseOtherCounts(client, { postings: String(postings), entryRows: String(entryRows) }, archive);
  await recordBalances(client, month, archive);
  await client.query(
    `INSERT INTO ledger.archives (name, from_at, to_at, postings, entries, digest)
     SELECT name, from_at, to_at, $2, $3, $4 FROM ledger.months WHERE name = $1`,
    [month.name, archive.postings, archive.entries, archive.digest],
  );
  const { rowCount } = await client.query('DELETE FROM ledger.months WHERE name = $1', [month.name]);
  if (rowCount !== 1) throw new Refusal(`${month.name} is not in the ledger any more.`);
  await client.query(`ALTER TABLE ledger.postings DETACH PARTITION ${postings}`);
  await client.query(`ALTER TABLE ledger.entry_rows DETACH PARTITION ${entryRows}`);
  await client.query(`DROP TABLE ${postings}, ${entryRows}`);
}

async function refuseOtherCounts(
  client: pg.Client,
  tables: { readonly postings: string; readonly entryRows: string },
  archive: VerifiedArchive,
): Promise<void> {
  const { rows } = await client.query<{ postings: string; entries: string }>(
    `SELECT p.postings, p.legs + (SELECT count(*) FROM ${tables.entryRows}) AS entries
       FROM (SELECT count(*) AS postings, count(payer) + count(payee) + count(fee_to) AS legs FROM ${tables.postings}) p`,
  );
  const [found] = rows;
  if (Number(found?.postings) === archive.postings && Number(found?.entries) === archive.entries) return;
  throw new Refusal(
    `The ledger has ${found?.postings} postings and ${found?.entries} entries, but the file has ${archive.postings} and ${archive.entries}. Nothing was changed.`,
  );
}

const rowsAtOnce = 10_000;

/** Accounts that did not move in the month stand where they stood before. */
async function recordBalances(client: pg.Client, { from }: MonthToWrite, { closing }: VerifiedArchive): Promise<void> {
  const moved = [...closing].filter(([, { at }]) => from === null || at >= from);
  for (let start = 0; start < moved.length; start += rowsAtOnce) {
    const some = moved.slice(start, start + rowsAtOnce);
    await client.query(
      `INSERT INTO ledger.archived_balances (account_id, balance, posted_at)
       SELECT * FROM unnest($1::bigint[], $2::numeric[], $3::timestamptz[])
       ON CONFLICT (account_id) DO UPDATE SET balance = excluded.balance, posted_at = excluded.posted_at`,
      [some.map(([account]) => account), some.map(([, { balance }]) => String(balance)), some.map(([, { at }]) => at)],
    );
  }
}
