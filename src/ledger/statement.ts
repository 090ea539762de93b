import { onlyRow, type Queryable } from '../kernel/db/database.ts';
import { type Amount, add, amountOf } from '../money/amount.ts';
import { type AccountId, assetOfAccount } from './account-id.ts';
import { gatherByHour, type StatementChunk } from './gather-by-hour.ts';
import { type EntryRow, entryColumns, type HistoryEntry, toEntry } from './history.ts';

export interface StatementQuery {
  readonly account: AccountId;
  /** From this moment on … */
  readonly from: Date;
  /** … and before this one. */
  readonly to: Date;
  /** How many entries are in memory at once. */
  readonly chunkSize?: number;
}

/** Opening balance + the changes of all entries = closing balance, to the last unit. */
export interface Statement {
  readonly account: AccountId;
  readonly opening: Amount;
  readonly closing: Amount;
  /** Oldest first, some at a time. Throws when they do not lead from the opening to the closing balance. */
  entries(): AsyncIterable<readonly HistoryEntry[]>;
  /** The same with what is small and many told in one line for each hour. */
  lines(): AsyncIterable<readonly HistoryEntry[]>;
}

const usualChunk = 75;

/**
 * What an account had at the beginning of a period, everything that happened in it, and what was left. It is all of the moment
 * at which it was opened, although it is read bit by bit and holds no connection meanwhile: what was posted never changes, and
 * time rises strictly along an account, so whatever comes later comes after the last entry that was there.
 */
export async function openStatement(
  db: Queryable,
  { account, from, to, chunkSize = usualChunk }: StatementQuery,
): Promise<Statement> {
  // One statement, so that both ends are of the same moment.
  const { opening_balance, last_us, last_balance } = onlyRow(
    await db.query<EndsRow>(
      `SELECT (SELECT balance_after FROM ledger.entries
                WHERE account_id = $1 AND posted_at < $2 ORDER BY posted_at DESC LIMIT 1) AS opening_balance,
              (extract(epoch FROM l.posted_at) * 1000000)::bigint AS last_us, l.balance_after AS last_balance
         FROM (SELECT) o
         LEFT JOIN LATERAL (
           SELECT posted_at, balance_after FROM ledger.entries
            WHERE account_id = $1 AND posted_at >= $2 AND posted_at < $3 ORDER BY posted_at DESC LIMIT 1) l ON true`,
      [account, from, to],
    ),
  );
  const asset = assetOfAccount(account);
  const opening = amountOf(asset, BigInt(opening_balance ?? 0));
  const closing = last_balance === null ? opening : amountOf(asset, BigInt(last_balance));

  async function* chunks(): AsyncGenerator<StatementChunk> {
    let balance = opening;
    let afterUs = BigInt(from.getTime()) * 1_000n - 1n;
    while (last_us !== null && afterUs < last_us) {
      const rows = await readEntries(db, { account, afterUs, untilUs: last_us, limit: chunkSize });
      const entries = rows.map(toEntry);
      balance = entries.reduce((sum, { change }) => add(sum, change), balance);
      afterUs = rows.at(-1)?.at_us ?? last_us;
      refuseGap(account, balance, entries.at(-1)?.balanceAfter ?? closing);
      yield { entries, endUs: afterUs, goesOn: afterUs < last_us };
    }
    refuseGap(account, balance, closing);
  }

  return {
    account,
    opening,
    closing,
    async *entries() {
      for await (const { entries } of chunks()) yield entries;
    },
    lines: () =>
      gatherByHour(chunks(), {
        opening,
        comesAgain: ({ type, afterUs, beforeUs }) =>
          comesAgain(db, { account, type, afterUs, untilUs: min(beforeUs - 1n, last_us ?? 0n) }),
      }),
  };
}

interface EndsRow {
  readonly opening_balance: string | null;
  readonly last_us: bigint | null;
  readonly last_balance: string | null;
}

/** A statement that does not add up is no statement: whoever asked for it must not take it for one. */
function refuseGap(account: AccountId, led: Amount, recorded: Amount): void {
  if (led.atomic === recorded.atomic) return;
  throw new Error(`the entries of account ${account} lead to ${led.atomic}, but it recorded ${recorded.atomic}`);
}

interface Stretch {
  readonly account: AccountId;
  readonly afterUs: bigint;
  readonly untilUs: bigint;
}

const momentOf = (parameter: string) => `'epoch'::timestamptz + ${parameter} * interval '1 microsecond'`;

async function readEntries(
  db: Queryable,
  { account, afterUs, untilUs, limit }: Stretch & { readonly limit: number },
): Promise<readonly EntryRow[]> {
  const { rows } = await db.query<EntryRow>(
    `SELECT ${entryColumns}
       FROM (SELECT * FROM ledger.entries
              WHERE account_id = $1 AND posted_at > ${momentOf('$2')} AND posted_at <= ${momentOf('$3')}
              ORDER BY posted_at LIMIT $4) e
       JOIN ledger.postings p ON p.id = e.posting_id
      ORDER BY e.posted_at`,
    [account, afterUs, untilUs, limit],
  );
  return rows;
}

/** Whether something of this type happens to the account within a stretch of time. */
async function comesAgain(
  db: Queryable,
  { account, type, afterUs, untilUs }: Stretch & { readonly type: string },
): Promise<boolean> {
  // Along the account and up to the first: of other accounts there may be any number of this type.
  const { rows } = await db.query(
    `SELECT FROM (SELECT posting_id FROM ledger.entries
                   WHERE account_id = $1 AND posted_at > ${momentOf('$2')} AND posted_at <= ${momentOf('$3')}
                   ORDER BY posted_at OFFSET 0) e
      WHERE (SELECT p.type FROM ledger.postings p WHERE p.id = e.posting_id) = $4 LIMIT 1`,
    [account, afterUs, untilUs, type],
  );
  return rows.length > 0;
}

function min(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
