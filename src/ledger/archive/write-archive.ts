import { open, rename, rm, writeFile } from 'node:fs/promises';
import { dirname } from 'node:path';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { createGzip } from 'node:zlib';
import type pg from 'pg';
import { inTransaction } from '../../kernel/db/connection-settings.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { timeText } from '../months.ts';
import { type ArchiveHeader, type ArchiveLine, archiveFormat } from './archive-line.ts';
import { type ArchiveCheck, createArchiveCheck } from './check-archive.ts';
import { type VerifiedArchive, verifyArchive } from './verify-archive.ts';

export interface MonthToWrite extends Pick<ArchiveHeader, 'from' | 'to' | 'previous'> {
  readonly name: string;
}

/** How many rows are in memory at once. */
const rowsAtOnce = 1_000;

/**
 * Writes a month to a file and verifies it from there. The file has its name only once it is whole and on the disk. A
 * file of that name is never overwritten, unless it is the same archive, which an interrupted run has left.
 */
export async function writeArchive(client: pg.Client, month: MonthToWrite, path: string): Promise<VerifiedArchive> {
  const part = `${path}.part`;
  try {
    await writeLines(client, month, part);
    const written = await verifyArchive(part);
    if (written.problems.length > 0) throw new Refusal(unsound(month.name, written.problems));
    await giveName(part, path, written.digest);
    return written;
  } finally {
    await rm(part, { force: true });
  }
}

function unsound(name: string, problems: readonly string[]): string {
  return [`${name} was not archived: its file does not verify. Nothing was changed.`, ...problems].join('\n');
}

async function giveName(part: string, path: string, digest: string): Promise<void> {
  const earlier = await verifyArchive(path).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (earlier !== undefined && earlier.digest !== digest)
    throw new Refusal(`${path} exists and is another file. Choose another name. Nothing was changed.`);
  await rename(part, path);
  const folder = await open(dirname(path));
  await folder.sync().finally(() => folder.close());
}

async function writeLines(client: pg.Client, month: MonthToWrite, part: string): Promise<void> {
  // A ledger belongs to its operator alone.
  const file = await open(part, 'w', 0o600);
  try {
    await inTransaction(client, async () => {
      // All lines are of one moment, whatever else happens.
      await client.query('SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY');
      const lines = Readable.from(readMonth(client, month), { objectMode: true, highWaterMark: 2 });
      await pipeline(lines, createGzip(), (content) => writeFile(file, content));
    });
    await file.sync();
  } finally {
    await file.close();
  }
}

/** Everything is followed while it is written, so that the closing balances come from the postings themselves. */
async function* readMonth(client: pg.Client, { name, from, to, previous }: MonthToWrite): AsyncGenerator<Buffer> {
  const check = createArchiveCheck();
  yield encode(check, [{ header: { format: archiveFormat, month: name, from, to, previous } }]);
  for await (const rows of fetchAll(client, openingSql)) yield take(check, rows);
  for await (const rows of fetchAll(client, postingsSql(client, name))) yield take(check, rows);
  const closing = [...check.standings].sort(([one], [other]) => one - other);
  for (let start = 0; start < closing.length; start += rowsAtOnce) {
    const some = closing.slice(start, start + rowsAtOnce);
    yield encode(
      check,
      some.map(([account, { balance, at }]) => ({ closing: [account, String(balance), at] })),
    );
  }
  yield encode(check, [{ footer: check.footer() }]);
  if (check.problems.length > 0) throw new Refusal(unsound(name, check.problems));
}

function encode(check: ArchiveCheck, lines: readonly ArchiveLine[]): Buffer {
  return take(
    check,
    lines.map((line) => JSON.stringify(line)),
  );
}

function take(check: ArchiveCheck, lines: readonly string[]): Buffer {
  for (const line of lines) check.take(Buffer.from(line));
  return Buffer.from(`${lines.join('\n')}\n`);
}

/** PostgreSQL writes the lines, so that no number passes through a float. */
async function* fetchAll(client: pg.Client, sql: string): AsyncGenerator<readonly string[]> {
  await client.query(`DECLARE lines NO SCROLL CURSOR FOR ${sql}`);
  for (;;) {
    const { rows } = await client.query<{ line: string }>(`FETCH ${rowsAtOnce} FROM lines`);
    if (rows.length === 0) break;
    yield rows.map(({ line }) => line);
  }
  await client.query('CLOSE lines');
}

const openingSql = `
  SELECT jsonb_build_object('opening', jsonb_build_array(account_id, balance::text, ${timeText('posted_at')}))::text AS line
    FROM ledger.archived_balances ORDER BY account_id`;

function postingsSql(client: pg.Client, name: string): string {
  const postings = `ledger.${client.escapeIdentifier(`postings_${name}`)}`;
  const entries = `ledger.${client.escapeIdentifier(`entry_rows_${name}`)}`;
  return `
    SELECT json_build_object('posting', json_build_object('id', p.id, 'at', ${timeText('p.posted_at')}, 'type', p.type,
             'sender', p.sender_id, 'recipient', p.recipient_id, 'asset', p.asset, 'amount', p.amount::text,
             'fee', p.fee::text, 'description', p.description, 'reference', p.reference, 'details', p.details,
             'payer', p.payer, 'payee', p.payee, 'feeTo', p.fee_to, 'payerAfter', p.payer_after::text,
             'payeeAfter', p.payee_after::text, 'feeAfter', p.fee_after::text,
             'entries', coalesce(e.list, '[]')))::text AS line
      FROM ${postings} p
      LEFT JOIN (
        SELECT posting_id, posted_at,
               jsonb_agg(jsonb_build_array(account_id, amount::text, balance_after::text) ORDER BY account_id) AS list
          FROM ${entries} GROUP BY posting_id, posted_at) e ON e.posting_id = p.id AND e.posted_at = p.posted_at
     ORDER BY p.posted_at, p.id`;
}
