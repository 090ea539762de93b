import { createCipheriv } from 'node:crypto';

/** Unpredictable without the seed. The same seed gives the same numbers. */
interface Random {
  /** Uniform, from 0 up to but not including `limit`, which is at most 2³². */
  below(limit: number): number;
  /** Where to cut an amount in two: from 0 to the amount, practically uniform. */
  cut(amount: bigint): bigint;
}

const drawnBytes = 65_536;

/** AES-256 in counter mode over a random seed is a fast cryptographic generator. */
export function createRandom(seed: Buffer): Random {
  const cipher = createCipheriv('aes-256-ctr', seed, Buffer.alloc(16));
  const zeros = Buffer.alloc(drawnBytes);
  let pool = Buffer.alloc(0);
  let used = 0;

  function take(bytes: number): number {
    if (used + bytes > pool.length) {
      pool = cipher.update(zeros);
      used = 0;
    }
    used += bytes;
    return used - bytes;
  }

  return {
    below(limit) {
      // Rejects what lies above the last full multiple, which would bias the result.
      const fair = 2 ** 32 - (2 ** 32 % limit);
      for (;;) {
        const at = take(4);
        const drawn = pool.readUInt32BE(at);
        if (drawn < fair) return drawn % limit;
      }
    },
    cut(amount) {
      const at = take(16);
      const fraction = (pool.readBigUInt64BE(at) << 64n) | pool.readBigUInt64BE(at + 8);
      return ((amount + 1n) * fraction) >> 128n;
    },
  };
}

/** Even two owners have dozens of leaves each, so that one owner's leaves say nothing about the other's. */
const fewestLeaves = 128;
/** Every balance is cut into at least this many pieces, so that none comes near the whole … */
const fewestPieces = 4;
/** … and a large balance into more, so that its pieces stand out less. */
const mostPieces = 16;
/** Pieces and crumbs together, so that every proof stays short. */
const mostParts = 64;
/** The house's own claims are decoys of every size; more than this many hide nothing more. */
const mostHouseParts = 256;

export interface LeafPlan {
  readonly depth: number;
  /** The amount of each part. An owner's parts are consecutive: users in the order given, the house, then padding. */
  readonly amounts: readonly bigint[];
  /** Where each owner's parts begin. Two more than users: the house, and the padding of zeros. */
  readonly firstPart: Uint32Array;
  readonly placeOfPart: Uint32Array;
  readonly partAtPlace: Uint32Array;
}

/**
 * Cuts every balance into parts and assigns each part a random place among the leaves. A branch reveals the sums beside
 * it, the lowest of which is a single leaf: so no leaf is a whole balance, and neighbours are random. A generator, so
 * that its caller decides when to let other work run.
 */
export function* planLeaves(
  { balances, house }: { readonly balances: readonly bigint[]; readonly house: bigint },
  random: Random,
): Generator<undefined, LeafPlan> {
  const depth = Math.ceil(Math.log2(Math.max(fewestLeaves, (fewestPieces + 1) * (balances.length + 1))));
  const size = 2 ** depth;
  const shares = yield* allotParts({ balances, house, size }, random);
  const amounts: bigint[] = [];
  const firstPart = new Uint32Array(balances.length + 2);
  for (let owner = 0; owner <= balances.length; owner++) {
    firstPart[owner] = amounts.length;
    const balance = balances[owner] ?? house;
    const [pieces, crumbs] = [shares.pieces[owner] as number, shares.crumbs[owner] as number];
    if (pieces > 0) amounts.push(...cutBalance(balance, { pieces, crumbs }, random));
    if (owner % 64 === 0) yield undefined;
  }
  firstPart[balances.length + 1] = amounts.length;
  while (amounts.length < size) amounts.push(0n);

  const partAtPlace = yield* shuffled(size, random);
  const placeOfPart = new Uint32Array(size);
  for (let place = 0; place < size; place++) placeOfPart[partAtPlace[place] as number] = place;
  return { depth, amounts, firstPart, placeOfPart, partAtPlace };
}

/** The numbers below `size` in uniformly random order (Fisher–Yates). */
function* shuffled(size: number, random: Random): Generator<undefined, Uint32Array> {
  const items = new Uint32Array(size);
  for (let last = 0; last < size; last++) {
    const other = random.below(last + 1);
    items[last] = items[other] as number;
    items[other] = last;
    if (last % 16_384 === 0) yield undefined;
  }
  return items;
}

interface Shares {
  readonly pieces: Uint32Array;
  readonly crumbs: Uint32Array;
}

/** The number of parts per owner, the house last. Parts left over are padding. */
function* allotParts(
  { balances, house, size }: { readonly balances: readonly bigint[]; readonly house: bigint; readonly size: number },
  random: Random,
): Generator<undefined, Shares> {
  const users = balances.length;
  const pieces = new Uint32Array(users + 1).fill(fewestPieces, 0, users);
  const crumbs = new Uint32Array(users + 1);
  if (house > 0n) {
    pieces[users] = mostPieces;
    crumbs[users] = Math.min(size / 8, mostHouseParts) - mostPieces;
  }
  let left = size - users * fewestPieces - (house > 0n ? Math.min(size / 8, mostHouseParts) : 0);

  const total = balances.reduce((sum, balance) => sum + balance, 0n);
  const byWealth = BigInt(left >> 1);
  for (const [owner, balance] of balances.entries()) {
    const more = Math.min(Number((byWealth * balance) / total), mostPieces - fewestPieces);
    pieces[owner] = fewestPieces + more;
    left -= more;
    if (owner % 8_192 === 0) yield undefined;
  }

  // The rest is assigned randomly, so that an owner's number of parts reveals nothing exact.
  let open = users;
  while (left > 0 && open > 0) {
    const owner = random.below(users);
    const most = mostParts - (pieces[owner] as number);
    const count = crumbs[owner] as number;
    if (count === most) continue;
    crumbs[owner] = count + 1;
    left--;
    if (count + 1 === most) open--;
    if (left % 8_192 === 0) yield undefined;
  }
  if (house > 0n) crumbs[users] = (crumbs[users] as number) + left;
  return { pieces, crumbs };
}

/**
 * Cuts a balance, then repeatedly its largest part, at random; then breaks off crumbs of random magnitude, down to
 * nothing. A few leaves hint at how large a balance may be, but every leaf may be a crumb of a larger balance, so a
 * small balance does not stand out among large ones.
 */
export function cutBalance(
  balance: bigint,
  { pieces, crumbs }: { readonly pieces: number; readonly crumbs: number },
  random: Random,
): bigint[] {
  const parts = [balance];
  while (parts.length < pieces + crumbs) {
    const largest = indexOfLargest(parts);
    const part = parts[largest] as bigint;
    const cutOff = parts.length < pieces ? random.cut(part) : breakCrumb(part, random);
    parts[largest] = part - cutOff;
    parts.push(cutOff);
  }
  return parts;
}

function breakCrumb(part: bigint, random: Random): bigint {
  const halvings = 1 + random.below(part.toString(2).length);
  return random.cut(part >> BigInt(halvings));
}

function indexOfLargest(parts: readonly bigint[]): number {
  let largest = 0;
  for (const [index, part] of parts.entries()) if (part > (parts[largest] as bigint)) largest = index;
  return largest;
}
