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
}

export interface HistoryPage {
  readonly entries: readonly HistoryEntry[];
  /** Null on the last page. */
  readonly nextCursor: string | null;
}

export interface HistoryQuery {
  readonly ownerId: bigint;
  /** Only these of the owner's accounts; all when left out. */
  readonly accounts?: readonly AccountId[];
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
  { ownerId, accounts, types, limit, cursor }: HistoryQuery,
): Promise<HistoryPage> {
  const from = cursor === undefined ? undefined : parseCursor(cursor);
  const { first, end } = accountRange(ownerId);
  // Each account is read backwards from the cursor by its index and gives at most one page; the pages are then merged.
  const { rows } = await db.query<EntryRow>(
    `SELECT ${entryColumns}
       FROM ledger.accounts a
      CROSS JOIN LATERAL (
        SELECT e.* FROM ledger.entries e
         WHERE e.account_id = a.id
           AND e.posted_at <= 'epoch'::timestamptz + $3 * interval '1 microsecond'
           AND (e.posted_at, e.account_id) < ('epoch'::timestamptz + $3 * interval '1 microsecond', $4::bigint)
           AND ($5::text[] IS NULL
                OR (SELECT t.type FROM ledger.postings t WHERE t.id = e.posting_id) = ANY ($5::text[]))
         ORDER BY e.posted_at DESC LIMIT $6) e
       JOIN ledger.postings p ON p.id = e.posting_id
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
    ],
  );
  const page = rows.slice(0, limit);
  const last = page.at(-1);
  return {
    entries: page.map(toEntry),
    nextCursor: rows.length > limit && last !== undefined ? `${last.at_us}-${last.account_id}` : null,
  };
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
