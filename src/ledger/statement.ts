import { onlyRow, type Queryable } from '../kernel/db/database.ts';
import { type Amount, add, amountOf } from '../money/amount.ts';
import { type AccountId, assetOfAccount } from './account-id.ts';
import { gatherByHour, type StatementChunk } from './gather-by-hour.ts';
import { type EntryRow, type HistoryEntry, toEntry, toMoment } from './history.ts';

export interface StatementQuery {
  readonly account: AccountId;
  /** Inclusive. */
  readonly from: Date;
  /** Exclusive. */
  readonly to: Date;
  /** How many entries are in memory at once. */
  readonly chunkSize?: number;
}

/** Opening balance + the changes of all entries = closing balance, exactly. */
export interface Statement {
  readonly account: AccountId;
  readonly opening: Amount;
  readonly closing: Amount;
  /** Oldest first, in chunks. Throws when they do not lead from the opening to the closing balance. */
  entries(): AsyncIterable<readonly HistoryEntry[]>;
  /** The same, with `gatheredTypes` summed up per hour. */
  lines(): AsyncIterable<readonly HistoryEntry[]>;
}

const usualChunk = 75;

/** The period begins in a month that was archived to a file, so its entries are not in the database. */
export class StatementArchived extends Error {
  override readonly name = 'StatementArchived';
}

/**
 * An account's opening balance, entries and closing balance for a period, all as of the moment of this call, although
 * entries are read in chunks without holding a connection: postings never change and time rises strictly along an
 * account, so later entries follow the last one found here.
 */
export async function openStatement(
  db: Queryable,
  { account, from, to, chunkSize = usualChunk }: StatementQuery,
): Promise<Statement> {
  // A single statement, so that both balances are from the same moment.
  const { openingBalance, lastUs, lastBalance, isArchived } = onlyRow(
    await db.query<
      Record<'openingBalance' | 'lastUs' | 'lastBalance', bigint | null> & { readonly isArchived: boolean }
    >(
      `SELECT $2 < ledger.archived_until() AS is_archived,
              coalesce((SELECT balance_after FROM ledger.account_entries
                WHERE account_id = $1 AND posted_at < $2 ORDER BY posted_at DESC LIMIT 1),
                (SELECT balance FROM ledger.archived_balances WHERE account_id = $1)) AS opening_balance,
              (extract(epoch FROM l.posted_at) * 1000000)::bigint AS last_us, l.balance_after AS last_balance
         FROM (SELECT) o
         LEFT JOIN LATERAL (
           SELECT posted_at, balance_after FROM ledger.account_entries
            WHERE account_id = $1 AND posted_at >= $2 AND posted_at < $3 ORDER BY posted_at DESC LIMIT 1) l ON true`,
      [account, from, to],
    ),
  );
  if (isArchived) throw new StatementArchived(`${from.toISOString()} is in a month that was archived`);
  const asset = assetOfAccount(account);
  const opening = amountOf(asset, openingBalance ?? 0n);
  const closing = lastBalance === null ? opening : amountOf(asset, lastBalance);

  async function* chunks(): AsyncGenerator<StatementChunk> {
    let balance = opening;
    let afterUs = BigInt(from.getTime()) * 1_000n - 1n;
    while (lastUs !== null && afterUs < lastUs) {
      const rows = await readEntries(db, { account, from, afterUs, untilUs: lastUs, limit: chunkSize });
      if (rows.length === 0) throw new StatementArchived('the month was archived while its statement was read');
      const entries = rows.map(toEntry);
      balance = entries.reduce((sum, { change }) => add(sum, change), balance);
      afterUs = rows.at(-1)?.atUs ?? lastUs;
      refuseGap(account, balance, entries.at(-1)?.balanceAfter ?? closing);
      yield { entries, endUs: afterUs, goesOn: afterUs < lastUs };
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
          comesAgain(db, { account, type, afterUs, untilUs: min(beforeUs - 1n, lastUs ?? 0n) }),
      }),
  };
}

/** Fails the statement, so that a reader never takes a wrong one for complete. */
function refuseGap(account: AccountId, led: Amount, recorded: Amount): void {
  if (led.atomic === recorded.atomic) return;
  throw new Error(`the entries of account ${account} lead to ${led.atomic}, but it recorded ${recorded.atomic}`);
}

interface Stretch {
  readonly account: AccountId;
  readonly afterUs: bigint;
  readonly untilUs: bigint;
}

/** The columns of an EntryRow, from entries `e` and postings `p`. */
const entryColumns = `e.account_id, (extract(epoch FROM e.posted_at) * 1000000)::bigint AS at_us,
  e.amount AS change, e.balance_after, p.id AS posting_id, p.type, p.sender_id, p.recipient_id, p.asset::integer, p.amount, p.fee,
  p.description, p.reference, p.details`;

async function readEntries(
  db: Queryable,
  { account, from, afterUs, untilUs, limit }: Stretch & { readonly from: Date; readonly limit: number },
): Promise<readonly EntryRow[]> {
  const { rows } = await db.query<EntryRow>(
    `SELECT ${entryColumns}
       FROM (SELECT * FROM ledger.account_entries
              WHERE account_id = $1 AND posted_at > $2 AND posted_at <= $3
                AND $5 >= (SELECT ledger.archived_until())
              ORDER BY posted_at LIMIT $4) e
       JOIN ledger.postings p ON p.id = e.posting_id AND p.posted_at = e.posted_at
      ORDER BY e.posted_at`,
    [account, toMoment(afterUs), toMoment(untilUs), limit, from],
  );
  return rows;
}

async function comesAgain(
  db: Queryable,
  { account, type, afterUs, untilUs }: Stretch & { readonly type: string },
): Promise<boolean> {
  const { rows } = await db.query<{ comesAgain: boolean }>('SELECT ledger.comes_again($1, $2, $3, $4) AS comes_again', [
    account,
    type,
    toMoment(afterUs),
    toMoment(untilUs + 1n),
  ]);
  return rows[0]?.comesAgain === true;
}

function min(one: bigint, other: bigint): bigint {
  return one < other ? one : other;
}
