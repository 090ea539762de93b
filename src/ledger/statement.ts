import type { Queryable } from '../db/database.ts';
import { type Amount, add, amountOf } from '../money/amount.ts';
import { type AccountId, assetOfAccount } from './account-id.ts';
import { type EntryRow, entryColumns, gatheredEntry, gatheredTypes, type HistoryEntry, toEntry } from './history.ts';

export interface StatementQuery {
  readonly account: AccountId;
  /** From this moment on … */
  readonly from: Date;
  /** … and before this one. */
  readonly to: Date;
}

/** Opening balance + the changes of all entries = closing balance, to the last unit. */
export interface Statement {
  readonly account: AccountId;
  readonly opening: Amount;
  /** Oldest first. */
  readonly entries: readonly HistoryEntry[];
  readonly closing: Amount;
}

/** What an account had at the beginning of a period, everything that happened in it, and what was left. */
export async function statementOf(db: Queryable, { account, from, to }: StatementQuery): Promise<Statement> {
  // One statement, so that both halves are of the same moment.
  const { rows } = await db.query<EntryRow & { opening: string | null }>(
    `SELECT o.balance AS opening, ${entryColumns}
       FROM (SELECT (SELECT balance_after FROM ledger.entries
                      WHERE account_id = $1 AND posted_at < $2 ORDER BY posted_at DESC LIMIT 1) AS balance) o
       LEFT JOIN ledger.entries e ON e.account_id = $1 AND e.posted_at >= $2 AND e.posted_at < $3
       LEFT JOIN ledger.postings p ON p.id = e.posting_id
      ORDER BY e.posted_at`,
    [account, from, to],
  );
  const asset = assetOfAccount(account);
  const opening = amountOf(asset, BigInt(rows[0]?.opening ?? 0));
  const entries = rows.filter((row) => row.account_id !== null).map(toEntry);
  const closing = entries.reduce((balance, entry) => add(balance, entry.change), opening);
  const recorded = entries.at(-1)?.balanceAfter ?? opening;
  if (closing.atomic !== recorded.atomic) {
    throw new Error(`the entries of account ${account} lead to ${closing.atomic}, but it recorded ${recorded.atomic}`);
  }
  return { account, opening, entries, closing };
}

/**
 * The entries of a statement with what is small and many told in one line for each hour, at the place of its last. Each line's
 * balance is the one that follows from the lines before it.
 */
export function gatherByHour(entries: readonly HistoryEntry[], opening: Amount): HistoryEntry[] {
  const hourOf = ({ posting }: HistoryEntry) => `${posting.type} ${posting.postedAt.toISOString().slice(0, 13)}`;
  const hours = new Map<string, { readonly last: HistoryEntry; readonly count: number; readonly atomic: bigint }>();
  for (const entry of entries) {
    if (!gatheredTypes.includes(entry.posting.type)) continue;
    const { count, atomic } = hours.get(hourOf(entry)) ?? { count: 0, atomic: 0n };
    hours.set(hourOf(entry), { last: entry, count: count + 1, atomic: atomic + entry.change.atomic });
  }
  let balance = opening;
  return entries.flatMap((entry) => {
    const hour = gatheredTypes.includes(entry.posting.type) ? hours.get(hourOf(entry)) : undefined;
    if (hour !== undefined && hour.last !== entry) return [];
    const line = hour === undefined ? entry : gatheredEntry(entry, hour);
    balance = add(balance, line.change);
    return [{ ...line, balanceAfter: balance }];
  });
}
