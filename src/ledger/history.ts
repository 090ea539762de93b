import type { Queryable } from '../db/database.ts';
import { type Amount, amountOf } from '../money/amount.ts';
import { type AccountId, accountRange, assetByCode, assetOfAccount, knownCodes } from './account-id.ts';
import type { Posted } from './posting.ts';
import { toPostingId } from './posting-id.ts';

/** What one posting did to one account. */
export interface HistoryEntry {
  readonly account: AccountId;
  /** Below zero when it went out. */
  readonly change: Amount;
  readonly balanceAfter: Amount;
  readonly posting: Posted;
  /** How many postings of an hour it stands for; then its change is their sum, and the posting is the last of them. */
  readonly gathered?: number;
}

/** Postings so small and so many that each type of them is told in one line for an hour. */
export const gatheredTypes: readonly string[] = ['nano'];

export interface HistoryPage {
  readonly entries: readonly HistoryEntry[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

export interface HistoryQuery {
  readonly ownerId: bigint;
  /** Only these of the owner's accounts; all when left out. */
  readonly accounts?: readonly AccountId[];
  /** Whether what is small and many (`gatheredTypes`) is told by the hour. */
  readonly gather?: true;
  /** Only postings of these types; all when left out. */
  readonly types?: readonly string[];
  readonly limit: number;
  /** The `nextCursor` of the page before. */
  readonly cursor?: string;
}

export interface EntryRow {
  readonly account_id: bigint;
  readonly at_us: bigint;
  readonly change: string;
  readonly balance_after: string;
  readonly posting_id: string;
  readonly type: string;
  readonly sender_id: bigint | null;
  readonly recipient_id: bigint | null;
  readonly asset: bigint;
  readonly amount: string;
  readonly fee: string;
  readonly description: string | null;
  readonly reference: string | null;
  readonly details: unknown;
}

interface GatheredRow extends EntryRow {
  readonly gathered: bigint | null;
  readonly gathered_change: string | null;
}

/** The columns of an EntryRow, from entries `e` and postings `p`. */
export const entryColumns = `e.account_id, (extract(epoch FROM e.posted_at) * 1000000)::bigint AS at_us,
  e.amount AS change, e.balance_after, p.id AS posting_id, p.type, p.sender_id, p.recipient_id, p.asset, p.amount, p.fee,
  p.description, p.reference, p.details`;

/**
 * Everything that happened to an owner's accounts, newest first. A page goes on where the last one ended, at a place in
 * time that no later posting can get in front of, so nothing is skipped or repeated while new ones arrive. Accounts that
 * only a newer release has a name for are left to it.
 */
export async function listHistory(
  db: Queryable,
  { ownerId, accounts, types, gather, limit, cursor }: HistoryQuery,
): Promise<HistoryPage> {
  const from = cursor === undefined ? undefined : parseCursor(cursor);
  const { first, end } = accountRange(ownerId);
  // Each account is read backwards from the cursor by its index and gives at most one page; the pages are then merged. Of what
  // is gathered the last of an hour stands for all of them: whatever page it is on, those before it are no lines of their own.
  const { rows } = await db.query<GatheredRow>(
    `SELECT ${entryColumns}, h.gathered, h.gathered_change
       FROM ledger.accounts a
      CROSS JOIN LATERAL (
        SELECT e.* FROM ledger.entries e
         WHERE e.account_id = a.id
           AND e.posted_at <= 'epoch'::timestamptz + $3 * interval '1 microsecond'
           AND (e.posted_at, e.account_id) < ('epoch'::timestamptz + $3 * interval '1 microsecond', $4::bigint)
           AND ($5::text[] IS NULL
                OR (SELECT t.type FROM ledger.postings t WHERE t.id = e.posting_id) = ANY ($5::text[]))
           AND NOT EXISTS (
             SELECT FROM ledger.postings t WHERE t.id = e.posting_id AND t.type = ANY ($11::text[]) AND EXISTS (
               SELECT FROM ledger.entries l JOIN ledger.postings lp ON lp.id = l.posting_id
                WHERE l.account_id = e.account_id AND lp.type = t.type AND l.posted_at > e.posted_at
                  AND l.posted_at < ${hourOf('e')} + interval '1 hour'))
         ORDER BY e.posted_at DESC LIMIT $6) e
       JOIN ledger.postings p ON p.id = e.posting_id
       LEFT JOIN LATERAL (
         SELECT count(*) AS gathered, sum(g.amount) AS gathered_change
           FROM ledger.entries g JOIN ledger.postings gp ON gp.id = g.posting_id
          WHERE p.type = ANY ($11::text[]) AND g.account_id = e.account_id AND gp.type = p.type
            AND g.posted_at >= ${hourOf('e')} AND g.posted_at <= e.posted_at) h ON true
      WHERE a.id >= $1 AND a.id < $2 AND ($7::bigint[] IS NULL OR a.id = ANY ($7))
        AND ledger.kind_of(a.id) = ANY ($8) AND ledger.chain_of(a.id) = ANY ($9) AND ledger.asset_of(a.id) = ANY ($10)
      ORDER BY e.posted_at DESC, e.account_id DESC LIMIT $6`,
    [
      first,
      end,
      from?.atUs ?? farFutureUs,
      from?.account ?? 0,
      types ?? null,
      limit + 1,
      accounts ?? null,
      knownCodes.kinds,
      knownCodes.chains,
      knownCodes.assets,
      gather === true ? gatheredTypes : [],
    ],
  );
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    entries: page.map(toGathered),
    nextCursor: rows.length > limit && last !== undefined ? `${last.at_us}-${last.account_id}` : null,
  };
}

/** SQL: the beginning of the hour of an entry. */
function hourOf(entry: string): string {
  return `date_trunc('hour', ${entry}.posted_at, 'UTC')`;
}

function toGathered(row: GatheredRow): HistoryEntry {
  const entry = toEntry(row);
  if (row.gathered === null || row.gathered === 0n || row.gathered_change === null) return entry;
  return gatheredEntry(entry, { count: Number(row.gathered), atomic: BigInt(row.gathered_change) });
}

/** One line for many, at the place of the last of them. */
export function gatheredEntry(
  last: HistoryEntry,
  { count, atomic }: { readonly count: number; readonly atomic: bigint },
): HistoryEntry {
  const { asset } = last.change;
  const amount = amountOf(asset, atomic < 0n ? -atomic : atomic);
  return { ...last, change: amountOf(asset, atomic), gathered: count, posting: { ...last.posting, amount } };
}

/** 1 January 2200. */
const farFutureUs = 7_258_118_400_000_000n;

/** Not a cursor that a page ended with. */
export class InvalidCursor extends Error {
  override readonly name = 'InvalidCursor';
}

function parseCursor(cursor: string): { readonly atUs: bigint; readonly account: bigint } {
  const [, atUs, account] = /^(\d{1,16})-(\d{1,16})$/.exec(cursor) ?? [];
  if (atUs === undefined || account === undefined) throw new InvalidCursor('this is not a cursor');
  return { atUs: BigInt(atUs), account: BigInt(account) };
}

export function toEntry(row: EntryRow): HistoryEntry {
  const account = Number(row.account_id) as AccountId;
  const assetMoved = assetOfAccount(account);
  const change = amountOf(assetMoved, BigInt(row.change));
  return {
    account,
    change,
    balanceAfter: amountOf(assetMoved, BigInt(row.balance_after)),
    posting: {
      id: toPostingId(row.posting_id),
      postedAt: new Date(Math.floor(Number(row.at_us) / 1_000)),
      type: row.type,
      ...shownAmounts(row, change),
      senderId: row.sender_id,
      recipientId: row.recipient_id,
      description: row.description,
      reference: row.reference,
      details: row.details,
    },
  };
}

/** What people are shown of the posting; what it did to this account when its asset is one that only a newer release knows. */
function shownAmounts({ asset: code, amount, fee }: EntryRow, { asset: assetMoved, atomic }: Amount) {
  const asset = assetByCode(Number(code));
  if (asset !== undefined) return { amount: amountOf(asset, BigInt(amount)), fee: amountOf(asset, BigInt(fee)) };
  return { amount: amountOf(assetMoved, atomic < 0n ? -atomic : atomic), fee: amountOf(assetMoved, 0n) };
}
