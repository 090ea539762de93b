import type pg from 'pg';
import type { Queryable } from '../kernel/db/database.ts';
import { amountOf } from '../money/amount.ts';
import type { Asset } from '../money/catalogue.ts';
import { type AccountId, assetByCode } from './account-id.ts';
import {
  type Accounts,
  encodeBatch,
  encodeDecisions,
  encodeLone,
  keyDigest,
  requestDigests,
  type Templates,
  uuidOf,
} from './encode-batch.ts';
import { LedgerUnavailable } from './errors.ts';
import {
  type ExceededBudget,
  type IdempotencyScope,
  type Outcome,
  type Posted,
  type Posting,
  type RefusedOutcome,
  toPostingId,
} from './posting.ts';

/** A call of a function of the ledger, prepared once per connection. */
export interface PostCall {
  readonly name: string;
  readonly text: string;
}

export const postCall = callOf('ledger.post', 33);
const postDecidedCall = callOf('ledger.post_decided', 41);
const postOneCall = callOf('ledger.post_one', 18);

function callOf(name: string, count: number): PostCall {
  const parameters = Array.from({ length: count }, (_, index) => `$${index + 1}`).join(', ');
  const text = `SELECT outcomes, (extract(epoch FROM first_at) * 1000000)::bigint AS "firstAtUs", earlier
    FROM ${name}(${parameters})`;
  return { name, text };
}

export interface PostRow extends pg.QueryResultRow {
  readonly outcomes: string;
  readonly firstAtUs: bigint;
  readonly earlier: readonly (EarlierPosting | GonePosting | ExceededPosting | LikePosting)[] | null;
}

/** A posting whose month is archived. */
interface GonePosting {
  readonly place: number;
  readonly id: string;
  readonly isGone: true;
}

/** A posting that budgets do not cover. */
interface ExceededPosting {
  readonly place: number;
  readonly exceeded: readonly (Omit<ExceededBudget, 'remaining' | 'resetsAt'> & {
    readonly asset: number;
    readonly remaining: string;
    readonly resetsAt: string | null;
  })[];
}

/** A guarded posting, and the one that it may repeat. */
interface LikePosting {
  readonly place: number;
  readonly like: { readonly id: string; readonly postedAt: string };
}

export interface EarlierPosting extends Pick<Posted, 'type' | 'description' | 'reference' | 'details'> {
  /** Its position in the batch, counted from one. */
  readonly place: number;
  readonly id: string;
  readonly postedAt: string;
  readonly senderId: string | null;
  readonly recipientId: string | null;
  readonly asset: number;
  readonly amount: string;
  readonly fee: string;
}

export interface BatchResult {
  /** An error for a posting whose refusal only a newer release can explain; the others are not affected. */
  readonly outcomes: readonly (Outcome | LedgerUnavailable)[];
  /** Accounts that were not known, and exist after the commit. Empty when any of them may not exist. */
  readonly opened: readonly AccountId[];
  /** Templates of decisions that are stored after the commit. */
  readonly templates: readonly string[];
}

/** A template that was taken for stored is not. Nothing was posted. */
export const lacksTemplate = 'PWTPL';

export async function postBatch(
  run: (call: PostCall, values: (string | null)[]) => Promise<PostRow>,
  postings: readonly Posting[],
  into: Accounts & Templates,
): Promise<BatchResult> {
  const lone = encodeOnly(postings, into);
  if (lone !== undefined)
    return { ...answersOf(postings, await run(postOneCall, lone.values), lone.uuids), opened: [], templates: [] };
  const { values, uuids, unseen } = encodeBatch(postings, into);
  const decisions = encodeDecisions(postings, uuids, into);
  const row = await (decisions === undefined
    ? run(postCall, values)
    : run(postDecidedCall, [...values, ...decisions.values]));
  return {
    ...answersOf(postings, row, uuids),
    opened: opensAll.test(row.outcomes) ? unseen : [],
    templates: row.outcomes.includes('P') ? (decisions?.templates ?? []) : [],
  };
}

/** Every account was opened before such an outcome. Of a letter that only a newer release knows we cannot tell. */
const opensAll = /^[PDIFKMSBL]*$/;

function encodeOnly(postings: readonly Posting[], into: Accounts) {
  const [only] = postings;
  if (only === undefined || postings.length > 1) return undefined;
  const uuid = uuidOf(only, Date.now());
  const values = encodeLone(only, uuid, into);
  return values && { values, uuids: [uuid] };
}

function answersOf(
  postings: readonly Posting[],
  row: PostRow,
  uuids: readonly string[],
): Pick<BatchResult, 'outcomes'> {
  const firstAtUs = Number(row.firstAtUs);
  const outcomes = postings.map((posting, index): Outcome | LedgerUnavailable => {
    const letter = row.outcomes[index];
    if (letter === 'P') {
      const postedAt = new Date(Math.floor((firstAtUs + index) / 1_000));
      return { outcome: 'posted', posting: asPosted(posting, uuids[index] as string, postedAt) };
    }
    if (letter === 'D') {
      const earlier = row.earlier?.find(({ place }) => place === index + 1);
      if (earlier === undefined || 'exceeded' in earlier || 'like' in earlier)
        return archivedDuplicate(posting, undefined);
      if ('isGone' in earlier) return archivedDuplicate(posting, earlier.id);
      if (assetByCode(earlier.asset) === undefined) return unknownRefusal(`a posting in asset ${earlier.asset}`);
      return { outcome: 'duplicate', posting: asEarlier(earlier) };
    }
    if (letter === 'B') {
      const refused = row.earlier?.find(({ place }) => place === index + 1);
      if (refused !== undefined && 'exceeded' in refused) return asExceeded(refused, posting);
    }
    if (letter === 'L') {
      const refused = row.earlier?.find(({ place }) => place === index + 1);
      if (refused !== undefined && 'like' in refused) return asRepetition(refused);
    }
    return refusals[letter as RefusalLetter] ?? unknownRefusal(letter);
  });
  return { outcomes };
}

type RefusalLetter = 'I' | 'U' | 'F' | 'K' | 'M' | 'S';

const refusals: Readonly<Partial<Record<RefusalLetter, { readonly outcome: RefusedOutcome }>>> = {
  I: { outcome: 'insufficient_balance' },
  U: { outcome: 'unknown_account' },
  F: { outcome: 'frozen_account' },
  K: { outcome: 'key_revoked' },
  M: { outcome: 'mismatch' },
  S: { outcome: 'stale' },
};

function asRepetition({ like }: LikePosting): Outcome {
  return { outcome: 'possible_duplicate', of: { id: toPostingId(like.id), postedAt: new Date(like.postedAt) } };
}

function asExceeded({ exceeded }: ExceededPosting, { authority }: Posting): Outcome {
  return {
    outcome: 'budget_exceeded',
    decision: authority?.decision,
    exceeded: exceeded.map(({ key, id, onExceed, asset, remaining, resetsAt }) => ({
      key,
      id,
      onExceed,
      remaining: amountOf(knownAsset(asset, `budget ${id}`), BigInt(remaining)),
      resetsAt: resetsAt === null ? null : new Date(resetsAt),
    })),
  };
}

/** Only P posts, in every release, so an unknown letter moved nothing. A newer instance can say why. */
function unknownRefusal(letter: string | undefined): LedgerUnavailable {
  return new LedgerUnavailable(new Error(`ledger.post refused with ${letter}, which this release does not know`));
}

/**
 * The first posting is in a month that was archived, so it cannot be answered again. Nothing is posted a second time.
 * This concerns one posting: the others of its batch are committed.
 */
function archivedDuplicate({ reference }: Pick<Posting, 'reference'>, id: string | undefined): LedgerUnavailable {
  const what = reference === undefined ? 'this request' : `the reference ${reference}`;
  const first = id === undefined ? 'unknown' : toPostingId(id);
  return new LedgerUnavailable(
    new Error(`${what} was posted before, by ${first}, which is in a month of the ledger that was archived`),
  );
}

function asPosted(posting: Posting, uuid: string, postedAt: Date): Posted {
  const { amount } = posting;
  return {
    id: posting.id ?? toPostingId(uuid),
    postedAt,
    type: posting.type,
    amount,
    fee: posting.fee ?? amountOf(amount.asset, 0n),
    senderId: posting.senderId ?? null,
    recipientId: posting.recipientId ?? null,
    description: posting.description ?? null,
    reference: posting.reference ?? null,
    details: posting.details ?? null,
  };
}

export function asEarlier(earlier: EarlierPosting): Posted {
  const asset = knownAsset(earlier.asset, `posting ${earlier.id}`);
  return {
    id: toPostingId(earlier.id),
    postedAt: new Date(earlier.postedAt),
    type: earlier.type,
    amount: amountOf(asset, BigInt(earlier.amount)),
    fee: amountOf(asset, BigInt(earlier.fee)),
    senderId: earlier.senderId === null ? null : BigInt(earlier.senderId),
    recipientId: earlier.recipientId === null ? null : BigInt(earlier.recipientId),
    description: earlier.description,
    reference: earlier.reference,
    details: earlier.details,
  };
}

function knownAsset(code: number, what: string): Asset {
  const asset = assetByCode(code);
  if (asset === undefined) throw new RangeError(`${what} is in an asset that this release does not know`);
  return asset;
}

/**
 * The earlier result under this Idempotency-Key, if any. A feature asks before it refuses a request by itself:
 * conditions may have changed since the first attempt, but its result stays.
 */
export async function findEarlier(db: Queryable, scope: IdempotencyScope): Promise<Outcome | undefined> {
  const { rows } = await db.query<{ same: boolean; earlier: EarlierPosting | GonePosting }>(
    `SELECT request_digest = ANY ($2::uuid[]) AS same, ledger.describe(1, posting_id, posted_at) AS earlier
       FROM ledger.idempotency_keys WHERE digest = $1`,
    [keyDigest(scope), requestDigests(scope)],
  );
  const [row] = rows;
  if (row === undefined) return undefined;
  if (!row.same) return { outcome: 'mismatch' };
  if ('isGone' in row.earlier) throw archivedDuplicate({}, row.earlier.id);
  return { outcome: 'duplicate', posting: asEarlier(row.earlier) };
}
