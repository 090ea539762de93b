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

export function uuidOf({ id }: Posting, now: number): string {
  return id === undefined ? newUuid(now) : (toPostingUuid(id) as string);
}

/** The database opens the accounts for which `isKnown` is false. */
export function encodeBatch(postings: readonly Posting[], isKnown: (account: AccountId) => boolean): EncodedBatch {
  const touched = accountsFalling(postings);
  const places = new Map<AccountId, number>();
  for (let index = 0; index < touched.length; index++) places.set(touched[index] as AccountId, index + 1);

  const now = Date.now();
  const uuids: string[] = [];
  const [types, keyIds, descriptions, references, details] = columns(5);
  const [senders, recipients, assets, amounts, fees] = columns(5);
  const [senderEvents, recipientEvents, keys, requests] = columns(4);
  let entryPostings = '';
  let entryPlaces = '';
  let entryAmounts = '';
  for (let index = 0; index < postings.length; index++) {
    const posting = postings[index] as Posting;
    const { amount, idempotency, entries } = posting;
    uuids.push(uuidOf(posting, now));
    types.addText(posting.type);
    keyIds.addText(posting.keyId);
    senders.add(posting.senderId);
    recipients.add(posting.recipientId);
    assets.add(assetCode(amount.asset));
    amounts.add(amount.atomic);
    fees.add(posting.fee?.atomic ?? 0n);
    descriptions.addText(posting.description);
    references.addText(posting.reference);
    details.addText(posting.details === undefined ? undefined : JSON.stringify(posting.details));
    senderEvents.addText(posting.senderEvent);
    recipientEvents.addText(posting.recipientEvent);
    keys.add(idempotency && keyDigest(idempotency));
    requests.add(idempotency && requestDigest(idempotency));
    for (let at = 0; at < entries.length; at++) {
      const { account, atomic } = entries[at] as Posting['entries'][number];
      if (atomic === 0n) continue;
      const comma = entryPostings === '' ? '' : ',';
      entryPostings += `${comma}${index + 1}`;
      entryPlaces += `${comma}${places.get(account)}`;
      entryAmounts += `${comma}${atomic}`;
    }
  }

  const unseen = touched.filter((account) => !isKnown(account));
  const values = [
    `{${touched.join(',')}}`,
    unseen.length === 0 ? null : `{${unseen.join(',')}}`,
    `{${uuids.join(',')}}`,
    types.literal,
    keyIds.literal,
    senders.literal,
    recipients.literal,
    assets.literal,
    amounts.literal,
    fees.literal,
    descriptions.literal,
    references.literal,
    details.literal,
    senderEvents.literal,
    recipientEvents.literal,
    keys.literal,
    requests.literal,
    `{${entryPostings}}`,
    `{${entryPlaces}}`,
    `{${entryAmounts}}`,
  ];
  return { values, uuids, touched };
}

/** The arguments of ledger.post_one. Undefined for a posting that only ledger.post can take. */
export function encodeLone(
  posting: Posting,
  uuid: string,
  isKnown: (account: AccountId) => boolean,
): (string | null)[] | undefined {
  const { amount, fee, idempotency, keyId, senderId, recipientId } = posting;
  const moving = posting.entries.filter(({ atomic }) => atomic !== 0n);
  const [payer, payee, house] = moving;
  if (payer === undefined || payee === undefined || moving.length > 3 || payer.atomic > 0n || payee.atomic < 0n) return;
  if (house !== undefined && (house.atomic < 0n || house.account > Math.min(payer.account, payee.account))) return;
  if (posting.reference !== undefined || posting.details !== undefined) return;
  if (!moving.every(({ account }) => isKnown(account))) return;
  const text = (value: bigint | number | undefined) => (value === undefined ? null : String(value));
  return [
    String(payer.account),
    String(payee.account),
    text(house?.account),
    String(-payer.atomic),
    String(payee.atomic),
    text(house?.atomic),
    uuid,
    posting.type,
    keyId ?? null,
    text(senderId),
    text(recipientId),
    String(assetCode(amount.asset)),
    String(amount.atomic),
    String(fee?.atomic ?? 0n),
    posting.description ?? null,
    posting.senderEvent ?? null,
    posting.recipientEvent ?? null,
    idempotency === undefined ? null : keyDigest(idempotency),
    idempotency === undefined ? null : requestDigest(idempotency),
  ];
}

/** Every account that the postings change, in the order in which ledger.post locks them. */
function accountsFalling(postings: readonly Posting[]): AccountId[] {
  const accounts = new Set<AccountId>();
  for (const { entries } of postings) {
    for (const { account, atomic } of entries) if (atomic !== 0n) accounts.add(account);
  }
  return [...accounts].sort((left, right) => right - left);
}

/** An array literal of PostgreSQL, built by hand: the driver's own way costs several times as much per posting. */
class Column {
  #text = '';
  #isEmpty = true;

  /** A value that needs no quotes. */
  add(value: number | bigint | string | undefined): void {
    if (value === undefined) {
      this.#text += ',NULL';
      return;
    }
    this.#isEmpty = false;
    this.#text += `,${value}`;
  }

  addText(value: string | undefined): void {
    this.add(value === undefined ? undefined : `"${escapeText(value)}"`);
  }

  /** Null instead of an array of nulls. */
  get literal(): string | null {
    return this.#isEmpty ? null : `{${this.#text.slice(1)}}`;
  }
}

function columns<Count extends 4 | 5>(count: Count): Count extends 5 ? FiveColumns : FourColumns {
  return Array.from({ length: count }, () => new Column()) as never;
}

type FourColumns = [Column, Column, Column, Column];
type FiveColumns = [...FourColumns, Column];

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
