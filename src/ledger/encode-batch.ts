import { hash } from 'node:crypto';
import { newUuid } from '../kernel/ids/typeid.ts';
import { type AccountId, assetCode, assetOfAccount, inSlot, isFeeAccount, isHouseAccount } from './account-id.ts';
import {
  type DecisionTemplate,
  type Entry,
  type IdempotencyScope,
  type Posting,
  type Spend,
  toPostingId,
  toPostingUuid,
} from './posting.ts';

export interface EncodedBatch {
  /** The arguments of ledger.post, in order. */
  readonly values: (string | null)[];
  /** One per posting, as hex. */
  readonly uuids: readonly string[];
  /** Accounts that the batch opens, if they do not exist. */
  readonly unseen: readonly AccountId[];
}

export function uuidOf({ id }: Posting, now: number): string {
  return id === undefined ? newUuid(now) : (toPostingUuid(id) as string);
}

/** Where a batch finds its accounts. */
export interface Accounts {
  /** The database opens the accounts for which this is false. */
  isKnown(account: AccountId): boolean;
  /** Which slot of the house's account for fees is credited. */
  readonly slot: number;
}

/** Which templates of decisions need not be stored again. */
export interface Templates {
  isStored(id: string): boolean;
}

export function encodeBatch(postings: readonly Posting[], { isKnown, slot }: Accounts): EncodedBatch {
  const touched = accountsFalling(postings, slot);
  const places = new Map<AccountId, number>();
  for (let index = 0; index < touched.length; index++) places.set(touched[index] as AccountId, index + 1);

  const now = Date.now();
  const uuids: string[] = [];
  const [types, keyIds, descriptions, references, details] = columns(5);
  const [senders, recipients, assets, amounts, fees] = columns(5);
  const [senderEvents, recipientEvents, keys, requests] = columns(4);
  const [payers, payees, feesTo] = columns(4);
  const [entryPostings, entryPlaces, entryAmounts] = columns(4);
  const [stamps, spentOn, returnsOf, returnParts, returnWholes] = columns(5);
  const guards = new Column();
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
    // The database takes a missing stamp for 0, and most accounts have none.
    stamps.add(posting.authority?.stamp || undefined);
    spentOn.addText(posting.spentOn);
    returnsOf.addText(posting.returns?.of);
    returnParts.add(posting.returns?.part);
    returnWholes.add(posting.returns?.whole);
    guards.add(guardOf(posting));
    const parties = partiesOf(posting, slot);
    payers.add(parties && places.get(parties.payer));
    payees.add(parties && places.get(parties.payee));
    feesTo.add(parties?.feeTo && places.get(parties.feeTo));
    if (parties !== undefined) continue;
    for (let at = 0; at < entries.length; at++) {
      const entry = entries[at] as Entry;
      if (entry.atomic === 0n) continue;
      entryPostings.add(index + 1);
      entryPlaces.add(places.get(accountOf(entry, slot)));
      entryAmounts.add(entry.atomic);
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
    payers.literal,
    payees.literal,
    feesTo.literal,
    entryPostings.literal,
    entryPlaces.literal,
    entryAmounts.literal,
    stamps.literal,
    ...encodeSpends(postings),
    spentOn.literal,
    returnsOf.literal,
    returnParts.literal,
    returnWholes.literal,
    guards.literal,
  ];
  return { values, uuids, unseen };
}

/** Every budget once, ascending, and what each posting takes of which. */
function encodeSpends(postings: readonly Posting[]): (string | null)[] {
  const places = new Map<number, number>();
  for (const { authority } of postings) {
    for (const { budget } of authority?.spends ?? noSpends) places.set(Number(budget), 0);
  }
  if (places.size === 0) return [null, null, null, null];
  const rising = Float64Array.from(places.keys()).sort();
  for (let index = 0; index < rising.length; index++) places.set(rising[index] as number, index + 1);
  const [spendPostings, spendPlaces, spendAmounts] = columns(4);
  for (let index = 0; index < postings.length; index++) {
    for (const { budget, amount } of postings[index]?.authority?.spends ?? noSpends) {
      spendPostings.add(index + 1);
      spendPlaces.add(places.get(Number(budget)));
      spendAmounts.add(amount);
    }
  }
  return [`{${rising.join(',')}}`, spendPostings.literal, spendPlaces.literal, spendAmounts.literal];
}

const noSpends: readonly Spend[] = [];

export interface EncodedDecisions {
  /** The last arguments of ledger.post_decided. */
  readonly values: (string | null)[];
  readonly templates: readonly string[];
}

/** The decisions about those postings that have one. Undefined when none has. */
export function encodeDecisions(
  postings: readonly Posting[],
  uuids: readonly string[],
  { isStored }: Templates,
): EncodedDecisions | undefined {
  let parts = '';
  const now = Date.now();
  const [places, ids, payees, templates] = columns(4);
  const used = new Map<string, DecisionTemplate>();
  for (let index = 0; index < postings.length; index++) {
    const { decision, spends } = (postings[index] as Posting).authority ?? {};
    if (decision === undefined || spends === undefined) continue;
    const decisionId = newUuid(now);
    const template = decision.template(spends);
    used.set(template.id, template);
    places.add(index + 1);
    ids.add(decisionId);
    payees.add(decision.payee);
    templates.add(template.id);
    // JSON without blanks has no line breaks.
    parts += `\n${decision.parts({ decisionId, id: toPostingId(uuids[index] as string) })}`;
  }
  if (used.size === 0) return undefined;
  const fresh = [...used.values()].filter(({ id }) => !isStored(id));
  const [freshIds, freshKeys] = columns(4);
  for (const { id, keyId } of fresh) {
    freshIds.add(id);
    freshKeys.addText(keyId);
  }
  const values = [
    places.literal,
    ids.literal,
    payees.literal,
    templates.literal,
    parts.slice(1),
    freshIds.literal,
    freshKeys.literal,
    fresh.length === 0 ? null : fresh.map(({ form }) => form).join('\n'),
  ];
  return { values, templates: [...used.keys()] };
}

/** The arguments of ledger.post_one. Undefined for a posting that only ledger.post can take. */
export function encodeLone(posting: Posting, uuid: string, { isKnown, slot }: Accounts): (string | null)[] | undefined {
  const { amount, fee, idempotency, keyId, senderId, recipientId, authority } = posting;
  if (posting.reference !== undefined || posting.details !== undefined) return;
  if (posting.returns !== undefined || authority?.decision !== undefined) return;
  if (authority !== undefined && authority.spends.length > 0) return;
  const parties = partiesOf(posting, slot);
  if (parties === undefined) return;
  const { payer, payee, feeTo } = parties;
  if (!isKnown(payer) || !isKnown(payee)) return;
  if (feeTo !== undefined && (!isKnown(feeTo) || feeTo > payer || feeTo > payee)) return;
  const text = (value: bigint | number | undefined) => (value === undefined ? null : String(value));
  return [
    String(payer),
    String(payee),
    text(feeTo),
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
    text(authority?.stamp),
    guardOf(posting) ?? null,
  ];
}

/** The posting that a guarded one does not repeat, or no posting's id. */
function guardOf({ guard }: Posting): string | undefined {
  return guard && (toPostingUuid(guard.notDuplicateOf ?? '') ?? noUuid);
}

const noUuid = '0'.repeat(32);

interface Parties {
  readonly payer: AccountId;
  readonly payee: AccountId;
  readonly feeTo: AccountId | undefined;
}

/**
 * Of a posting that fits into one row: one account pays the amount, one of the house gets the fee if there is any, and
 * one gets the rest, all in the asset of the amount. A posting balances, so all three are on one chain.
 */
function partiesOf({ amount, fee, entries }: Posting, slot: number): Parties | undefined {
  let payer: Entry | undefined;
  let payee: Entry | undefined;
  let feeTo: Entry | undefined;
  for (let at = 0; at < entries.length; at++) {
    const entry = entries[at] as Entry;
    if (entry.atomic === 0n) continue;
    if (entry.atomic < 0n && payer === undefined) payer = entry;
    else if (entry.atomic > 0n && payee === undefined) payee = entry;
    else if (entry.atomic > 0n && feeTo === undefined) feeTo = entry;
    else return undefined;
  }
  if (payer === undefined || payee === undefined) return undefined;
  if (-payer.atomic !== amount.atomic || assetOfAccount(payer.account) !== amount.asset) return undefined;
  if ((fee?.atomic ?? 0n) !== (feeTo?.atomic ?? 0n)) return undefined;
  if (feeTo !== undefined && !isHouseAccount(feeTo.account)) return undefined;
  return {
    payer: payer.account,
    payee: accountOf(payee, slot),
    feeTo: feeTo && accountOf(feeTo, slot),
  };
}

/** Fees are credited to a slot of their account. */
function accountOf({ account, atomic }: Entry, slot: number): AccountId {
  return atomic > 0n && isFeeAccount(account) ? inSlot(account, slot) : account;
}

/** Every account that the postings change, in the order in which ledger.post locks them. */
function accountsFalling(postings: readonly Posting[], slot: number): AccountId[] {
  const accounts = new Set<AccountId>();
  for (const { entries } of postings) {
    for (const entry of entries) if (entry.atomic !== 0n) accounts.add(accountOf(entry, slot));
  }
  return Array.from(Float64Array.from(accounts).sort().reverse()) as AccountId[];
}

/** An array literal of PostgreSQL, built by hand: the driver's own way costs several times as much per posting. */
class Column {
  #text = '';
  /** How many values were missing before the first one. They are written when it comes. */
  #missing = 0;
  #isEmpty = true;
  #last: string | undefined;
  #lastQuoted: string | undefined;

  /** A value that needs no quotes. */
  add(value: number | bigint | string | undefined): void {
    if (value !== undefined) {
      if (this.#isEmpty) this.#begin();
      this.#text += `,${value}`;
    } else if (this.#isEmpty) this.#missing++;
    else this.#text += ',NULL';
  }

  #begin(): void {
    this.#isEmpty = false;
    this.#text = ',NULL'.repeat(this.#missing);
  }

  /** Many postings of a batch have the same type, events or key. */
  addText(value: string | undefined): void {
    if (value !== undefined && value !== this.#last) {
      this.#last = value;
      this.#lastQuoted = `"${escapeText(value)}"`;
    }
    this.add(value === undefined ? undefined : this.#lastQuoted);
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
  return requestHash.slice(0, 32);
}

/** Every digest under which the same request may have been stored. */
export function requestDigests({ requestHash, formerHashes = () => [] }: IdempotencyScope): readonly string[] {
  return [requestHash, ...formerHashes()].map((hash) => requestDigest({ requestHash: hash }));
}
