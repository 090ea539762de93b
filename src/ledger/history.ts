import type { Queryable } from '../kernel/db/database.ts';
import { type Amount, amountOf } from '../money/amount.ts';
import { type AccountId, accountRange, assetByCode, assetOfAccount, knownCodes } from './account-id.ts';
import { type Posted, toPostingId, toPostingUuid } from './posting.ts';

/** What one posting did to one account. */
export interface HistoryEntry {
  readonly account: AccountId;
  /** Negative when money left the account. */
  readonly change: Amount;
  readonly balanceAfter: Amount;
  readonly posting: Posted;
  /** How many postings of an hour this line stands for: its change is their sum, and its posting the last of them. */
  readonly gathered?: number;
}

/** Postings so small and frequent that each type gets one line per hour. */
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
  /** Whether postings of `gatheredTypes` are summed up per hour. */
  readonly gather?: true;
  /** Only postings of these types; all when left out. */
  readonly types?: readonly string[];
  readonly limit: number;
  /** The `nextCursor` of the page before. */
  readonly cursor?: string;
  /** How many entries of an account one page reads at most. */
  readonly lookAt?: number;
}

/**
 * A page may have to read any number of entries for a few lines. It ends after this many, with the lines found so far;
 * its cursor continues from there.
 */
const usualLookAt = 10_000;

export interface EntryRow extends Omit<Posted, 'id' | 'postedAt' | 'amount' | 'fee'> {
  readonly accountId: bigint;
  readonly atUs: bigint;
  readonly change: bigint;
  readonly balanceAfter: bigint;
  readonly postingId: string;
  readonly asset: number;
  readonly amount: bigint;
  readonly fee: bigint;
}

interface GatheredRow extends EntryRow {
  readonly gathered: number | null;
  readonly gatheredChange: bigint | null;
}

/**
 * The history of an owner's accounts, newest first. The cursor is a point in time that no later posting can precede, so
 * pages neither skip nor repeat entries while new ones arrive. Accounts that only a newer release knows are left out.
 */
export async function listHistory(
  db: Queryable,
  { ownerId, accounts, types, gather, limit, cursor, lookAt = usualLookAt }: HistoryQuery,
): Promise<HistoryPage> {
  const from = cursor === undefined ? undefined : parseCursor(cursor);
  const { first, end } = accountRange(ownerId);
  const { rows } = await db.query<GatheredRow>(
    'SELECT * FROM ledger.history($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)',
    [
      first,
      end,
      toMoment(from?.atUs ?? farFutureUs),
      from?.account ?? 0,
      accounts ?? null,
      types ?? null,
      gather === true ? gatheredTypes : [],
      knownCodes.kinds,
      knownCodes.chains,
      knownCodes.assets,
      limit + 1,
      lookAt,
    ],
  );
  const lookedTo =
    gather === true || types !== undefined
      ? await findLookedTo(db, { ownerId, accounts, from, to: rows[limit - 1], lookAt })
      : undefined;
  const seen = lookedTo === undefined ? rows : rows.filter((row) => !comesBefore(row, lookedTo));
  const page = seen.slice(0, limit);
  const endsAt = seen.length > limit ? page.at(-1) : lookedTo;
  return {
    entries: page.map(toGathered),
    nextCursor: endsAt === undefined ? null : `${endsAt.atUs}-${endsAt.accountId}`,
  };
}

/** What one posting did to the owner's accounts. Undefined when it did nothing, or its month was archived. */
export async function findHistoryEntry(
  db: Queryable,
  { ownerId, accounts, postingId }: Pick<HistoryQuery, 'ownerId' | 'accounts'> & { readonly postingId: string },
): Promise<HistoryEntry | undefined> {
  const uuid = toPostingUuid(postingId);
  if (uuid === undefined) return undefined;
  const { rows } = await db.query<{ atUs: bigint }>(
    'SELECT (extract(epoch FROM posted_at) * 1000000)::bigint AS at_us FROM ledger.postings WHERE id = $1',
    [uuid],
  );
  const atUs = rows[0]?.atUs;
  if (atUs === undefined) return undefined;
  const query = { ownerId, limit: 1, cursor: `${BigInt(atUs) + 1n}-0`, ...(accounts !== undefined && { accounts }) };
  const [entry] = (await listHistory(db, query)).entries;
  return entry?.posting.id === postingId ? entry : undefined;
}

interface Place {
  readonly atUs: bigint;
  readonly accountId: bigint;
}

function comesBefore(one: Place, other: Place): boolean {
  return one.atUs === other.atUs ? one.accountId < other.accountId : one.atUs < other.atUs;
}

interface LookedQuery {
  readonly ownerId: bigint;
  readonly accounts: readonly AccountId[] | undefined;
  readonly from: { readonly atUs: bigint; readonly account: bigint } | undefined;
  /** The last line of a full page. */
  readonly to: Place | undefined;
  readonly lookAt: number;
}

/** The last entry that was read, if reading stopped before the page was full. */
async function findLookedTo(
  db: Queryable,
  { ownerId, accounts, from, to, lookAt }: LookedQuery,
): Promise<Place | undefined> {
  const { first, end } = accountRange(ownerId);
  const { rows } = await db.query<Place>('SELECT * FROM ledger.looked_to($1, $2, $3, $4, $5, $6, $7)', [
    first,
    end,
    toMoment(from?.atUs ?? farFutureUs),
    from?.account ?? 0,
    accounts ?? null,
    toMoment(to?.atUs ?? 0n),
    lookAt,
  ]);
  return rows[0];
}

function toGathered(row: GatheredRow): HistoryEntry {
  const entry = toEntry(row);
  if (row.gathered === null || row.gathered === 0 || row.gatheredChange === null) return entry;
  return gatheredEntry(entry, { count: row.gathered, atomic: row.gatheredChange });
}

/** One line for many entries, in place of the last one. */
export function gatheredEntry(
  last: HistoryEntry,
  { count, atomic }: { readonly count: number; readonly atomic: bigint },
): HistoryEntry {
  const { asset } = last.change;
  const amount = amountOf(asset, atomic < 0n ? -atomic : atomic);
  return { ...last, change: amountOf(asset, atomic), gathered: count, posting: { ...last.posting, amount } };
}

/**
 * A moment to the microsecond, as PostgreSQL reads it. A parameter of this kind lets it leave out months when it plans a
 * query; one that it first has to calculate does not.
 */
export function toMoment(us: bigint): string {
  const micros = ((us % 1_000_000n) + 1_000_000n) % 1_000_000n;
  const second = new Date(Number(us - micros) / 1_000).toISOString().slice(0, 19);
  return `${second}.${String(micros).padStart(6, '0')}Z`;
}

/** 1 January 2200. */
const farFutureUs = 7_258_118_400_000_000n;

export class InvalidCursor extends Error {
  override readonly name = 'InvalidCursor';
}

function parseCursor(cursor: string): { readonly atUs: bigint; readonly account: bigint } {
  const [, atUs, account] = /^(\d{1,16})-(\d{1,16})$/.exec(cursor) ?? [];
  if (atUs === undefined || account === undefined) throw new InvalidCursor('this is not a cursor');
  return { atUs: BigInt(atUs), account: BigInt(account) };
}

export function toEntry(row: EntryRow): HistoryEntry {
  const account = Number(row.accountId) as AccountId;
  const assetMoved = assetOfAccount(account);
  const change = amountOf(assetMoved, row.change);
  return {
    account,
    change,
    balanceAfter: amountOf(assetMoved, row.balanceAfter),
    posting: {
      id: toPostingId(row.postingId),
      postedAt: new Date(Math.floor(Number(row.atUs) / 1_000)),
      type: row.type,
      ...shownAmounts(row, change),
      senderId: row.senderId,
      recipientId: row.recipientId,
      description: row.description,
      reference: row.reference,
      details: row.details,
    },
  };
}

/**
 * The amounts as shown to people. When only a newer release knows the posting's asset, the change of this account
 * instead.
 */
function shownAmounts({ asset: code, amount, fee }: EntryRow, { asset: assetMoved, atomic }: Amount) {
  const asset = assetByCode(code);
  if (asset !== undefined) return { amount: amountOf(asset, amount), fee: amountOf(asset, fee) };
  return { amount: amountOf(assetMoved, atomic < 0n ? -atomic : atomic), fee: amountOf(assetMoved, 0n) };
}
