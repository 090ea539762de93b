import { type Asset, assets, type ChainId, chains, homeChain } from '../money/catalogue.ts';

/**
 * Every posting needs these codes, so they have objects of their own. A newer release may have added codes to the
 * ledger's tables: this release counts such an account, and does not show it.
 */
const assetCodes = codesOf(assets);
const chainCodes = codesOf(chains);
const kindCodes = {
  /** What a user can spend. */
  available: 0,
  /** Set aside for an order: the user's own, but not spendable. */
  held: 1,
  /** Owed to a claimant, who has no account yet. */
  due: 2,
  fees: 16,
  /** Tokens that arrived without being expected. */
  surplus: 17,
  merchants: 18,
  withdrawals_in_transit: 19,
  bridges_in_transit: 20,
  swaps_in_transit: 21,
  orders_in_transit: 22,
  nano_in_transit: 23,
  /** Calls that were served and whose payment has not arrived yet; it becomes income when it does. */
  calls_in_transit: 24,
  /** What we hold on the chain, as a negative balance. This and the following kinds mirror the outside world. */
  custody: 32,
  gas: 33,
  receivables: 34,
  equity: 35,
  /** The operator's native coin for gas, separate from the wrapped coins that users own. */
  gas_tank: 36,
  /** Native coin that was unwrapped and not yet paid out: in one of our wallets, but no longer a token. */
  unwrapped_in_transit: 37,
  /** The operator's native coin that was lent to users' wallets for gas. */
  gas_lent: 38,
  /** Owed to us: deposits that a reorg removed after the user had spent them. */
  reversals_in_transit: 39,
} as const;

type Kind = keyof typeof kindCodes;
export type HouseKind = Exclude<Kind, 'available' | 'held' | 'due'>;

declare const ledgerAccount: unique symbol;

/**
 * owner << 14 | kind << 8 | chain << 4 | asset, with owner 0 for the house, and negative owners for slots of its account
 * for fees. An account's number follows from its parts, without a look-up.
 */
export type AccountId = number & { readonly [ledgerAccount]: true };

export function userAccount(ownerId: bigint, asset: Asset, chain: ChainId = homeChain): AccountId {
  return compose(ownerId, 'available', chain, asset);
}

/** Set aside for an order. It stays the user's until the order takes it. */
export function heldAccount(ownerId: bigint, asset: Asset, chain: ChainId = homeChain): AccountId {
  return compose(ownerId, 'held', chain, asset);
}

/** What we owe to a party without an account, by the number that `openClaimant` assigned. */
export function dueAccount(claimantId: bigint, asset: Asset, chain: ChainId = homeChain): AccountId {
  return compose(claimantId, 'due', chain, asset);
}

export function houseAccount(kind: HouseKind, asset: Asset, chain: ChainId = homeChain): AccountId {
  return compose(0n, kind, chain, asset);
}

/**
 * Every transfer credits the house's account for fees. A single row of it would put all batches in line, so it is kept
 * in this many: the account itself, and slots with the owners -1, -2 … Its balance is their sum.
 */
export const slotCount = 16;

export function isHouseAccount(account: AccountId): boolean {
  return account < 16_384;
}

/** Only the account itself, not its slots. */
export function isFeeAccount(account: AccountId): boolean {
  return isHouseAccount(account) && account >> 8 === kindCodes.fees;
}

export function inSlot(account: AccountId, slot: number): AccountId {
  return ((account & 16_383) - slot * 16_384) as AccountId;
}

/** All accounts that a house account is kept in, itself first. */
export function slotsOf(account: AccountId): AccountId[] {
  if (!isFeeAccount(account)) return [account];
  return Array.from({ length: slotCount }, (_, slot) => inSlot(account, slot));
}

function compose(ownerId: bigint, kind: Kind, chain: ChainId, asset: Asset): AccountId {
  const owner = Number(ownerId);
  const id = owner * 16_384 + kindCodes[kind] * 256 + chainCodes[chain] * 16 + assetCodes[asset];
  if (!Number.isSafeInteger(id) || owner < 0) throw new RangeError(`${ownerId} is not an owner id`);
  return id as AccountId;
}

export interface AccountParts {
  /** Null for the house. */
  readonly ownerId: bigint | null;
  readonly kind: Kind;
  readonly chain: ChainId;
  readonly asset: Asset;
}

/** Undefined when only a newer release knows its kind, chain or asset. */
export function accountParts(id: AccountId): AccountParts | undefined {
  const owner = Math.floor(id / 16_384);
  const [kind, chain, asset] = [kindNames[(id >> 8) & 63], chainNames[(id >> 4) & 15], assetNames[id & 15]];
  if (kind === undefined || chain === undefined || asset === undefined) return undefined;
  return { ownerId: owner <= 0 ? null : BigInt(owner), kind, chain, asset };
}

/** Throws for an asset that only a newer release knows. */
export function assetOfAccount(id: AccountId): Asset {
  const asset = assetNames[id & 15];
  if (asset === undefined) throw new RangeError(`account ${id} is of an asset that this release does not know`);
  return asset;
}

/** Chain and asset as one number: entries must balance within each pair. */
export function pairOf(id: AccountId): number {
  return id & 255;
}

export function assetCode(asset: Asset): number {
  return assetCodes[asset];
}

const assetNames = byCode(assetCodes);
const chainNames = byCode(chainCodes);
const kindNames = byCode(kindCodes);

/** Undefined when only a newer release knows the code. */
export function assetByCode(code: number): Asset | undefined {
  return assetNames[code];
}

export function chainByCode(code: number): ChainId | undefined {
  return chainNames[code];
}

/** For paged queries: accounts that this release cannot show must be left out in SQL. */
export const knownCodes = {
  kinds: Object.values(kindCodes),
  chains: Object.values(chainCodes),
  assets: Object.values(assetCodes),
} as const;

/** An owner's accounts have the numbers from `first` up to, but not including, `end`. */
export function accountRange(ownerId: bigint): { readonly first: bigint; readonly end: bigint } {
  return { first: ownerId << 14n, end: (ownerId + 1n) << 14n };
}

function codesOf<Name extends string>(table: Readonly<Record<Name, { readonly code: number }>>): Record<Name, number> {
  const entries = (Object.keys(table) as Name[]).map((name) => [name, table[name].code]);
  return Object.fromEntries(entries) as Record<Name, number>;
}

function byCode<Name extends string>(codes: Readonly<Record<Name, number>>): (Name | undefined)[] {
  const names: (Name | undefined)[] = [];
  for (const name of Object.keys(codes) as Name[]) names[codes[name]] = name;
  return names;
}
