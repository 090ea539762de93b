import { hash } from 'node:crypto';
import { newUuid } from '../kernel/ids/typeid.ts';
import { type AccountId, assetCode } from './account-id.ts';
import { type IdempotencyScope, type Posting, toPostingUuid } from './posting.ts';

export interface EncodedBatch {
  /** The arguments of ledger.post, in order. */
  readonly values: (string | null)[];
  /** One per posting, as hex. */
  readonly uuids: readonly string[];
  readonly touched: readonly AccountId[];
}

/** The database opens the accounts for which `isKnown` is false. */
export function encodeBatch(postings: readonly Posting[], isKnown: (account: AccountId) => boolean): EncodedBatch {
  const touched = accountsFalling(postings);
  const places = new Map<AccountId, number>();
  for (let index = 0; index < touched.length; index++) places.set(touched[index] as AccountId, index + 1);

  const now = Date.now();
  const uuids = postings.map(({ id }) => (id === undefined ? newUuid(now) : (toPostingUuid(id) as string)));
  const entryPostings: number[] = [];
  const entryPlaces: (number | undefined)[] = [];
  const entryAmounts: bigint[] = [];
  for (const [index, { entries }] of postings.entries()) {
    for (const { account, atomic } of entries) {
      if (atomic === 0n) continue;
      entryPostings.push(index + 1);
      entryPlaces.push(places.get(account));
      entryAmounts.push(atomic);
    }
  }

  const values = [
    plain(touched),
    plainOrNull(touched.filter((account) => !isKnown(account))),
    plain(uuids),
    texts(postings, ({ type }) => type),
    texts(postings, ({ keyId }) => keyId),
    numbers(postings, ({ senderId }) => senderId),
    numbers(postings, ({ recipientId }) => recipientId),
    numbers(postings, ({ amount }) => assetCode(amount.asset)),
    numbers(postings, ({ amount }) => amount.atomic),
    numbers(postings, ({ fee }) => fee?.atomic ?? 0n),
    texts(postings, ({ description }) => description),
    texts(postings, ({ reference }) => reference),
    texts(postings, ({ details }) => (details === undefined ? undefined : JSON.stringify(details))),
    texts(postings, ({ senderEvent }) => senderEvent),
    texts(postings, ({ recipientEvent }) => recipientEvent),
    texts(postings, ({ idempotency }) => idempotency && keyDigest(idempotency)),
    texts(postings, ({ idempotency }) => idempotency && requestDigest(idempotency)),
    plain(entryPostings),
    plain(entryPlaces),
    plain(entryAmounts),
  ];
  return { values, uuids, touched };
}

/** Every account that the postings change, in the order in which ledger.post locks them. */
function accountsFalling(postings: readonly Posting[]): AccountId[] {
  const accounts = new Set<AccountId>();
  for (const { entries } of postings) {
    for (const { account, atomic } of entries) if (atomic !== 0n) accounts.add(account);
  }
  return [...accounts].sort((left, right) => right - left);
}

// Array literals are built by hand: the driver's own way costs several times as much per posting.

type Plain = number | bigint | string | undefined;

function plain(items: readonly Plain[]): string {
  return `{${items.join(',')}}`;
}

function plainOrNull(items: readonly Plain[]): string | null {
  return items.length === 0 ? null : plain(items);
}

function numbers(postings: readonly Posting[], read: (posting: Posting) => bigint | number | undefined): string | null {
  let literal = '';
  let any = false;
  for (const posting of postings) {
    const value = read(posting);
    any ||= value !== undefined;
    literal += `,${value ?? 'NULL'}`;
  }
  return any ? `{${literal.slice(1)}}` : null;
}

function texts(postings: readonly Posting[], read: (posting: Posting) => string | undefined): string | null {
  let literal = '';
  let any = false;
  for (const posting of postings) {
    const value = read(posting);
    any ||= value !== undefined;
    literal += value === undefined ? ',NULL' : `,"${escapeText(value)}"`;
  }
  return any ? `{${literal.slice(1)}}` : null;
}

const special = /["\\]/;

function escapeText(text: string): string {
  return special.test(text) ? text.replace(/["\\]/g, '\\$&') : text;
}

/** Half a SHA-256 is enough: an account could only make its own keys collide. */
export function keyDigest({ accountId, key }: IdempotencyScope): string {
  return hash('sha256', `${accountId} ${key}`, 'hex').slice(0, 32);
}

export function requestDigest({ requestHash }: Pick<IdempotencyScope, 'requestHash'>): string {
  return Buffer.from(requestHash.buffer, requestHash.byteOffset, 16).toString('hex');
}

/** Every digest under which the same request may have been stored. */
export function requestDigests({ requestHash, formerHashes = () => [] }: IdempotencyScope): readonly string[] {
  return [requestHash, ...formerHashes()].map((hash) => requestDigest({ requestHash: hash }));
}
