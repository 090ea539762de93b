import { digest } from './record.ts';

/** What the leaf of an account is made of. */
export interface Leaf {
  /** The account's handle. */
  readonly account: string;
  readonly salt: Buffer;
  readonly seq: bigint;
  readonly head: Buffer;
}

/** 0x00, salt, SHA-256 of the handle, number of the last record in eight bytes, head. */
export function leafHash({ account, salt, seq, head }: Leaf): Buffer {
  const number = Buffer.alloc(8);
  number.writeBigUInt64BE(seq);
  return digest(Buffer.of(0), salt, digest(Buffer.from(account)), number, head);
}

function nodeHash(left: Buffer, right: Buffer): Buffer {
  return digest(Buffer.of(1), left, right);
}

/** The tree of RFC 6962 over a known number of leaves, which come one after the other. */
export interface Tree {
  append(leaf: Buffer): void;
  /** Of all leaves. Of none: the hash of nothing. */
  root(): Buffer;
  /** The siblings on the way from a leaf to the root, side by side. */
  path(place: number): Buffer;
}

const hashBytes = 32;

/** Every node is hashed as soon as both below it are there, so no step takes long. Side by side, hashes take a tenth of the memory. */
export function createTree(size: number): Tree {
  const widths = [size];
  for (let width = size; width > 1; widths.push(width)) width = Math.ceil(width / 2);
  const levels = widths.map((width) => ({ width, count: 0, hashes: Buffer.alloc(width * hashBytes) }));
  const top = levels.length - 1;
  const at = (level: number, index: number) =>
    (levels[level] as (typeof levels)[number]).hashes.subarray(index * hashBytes, (index + 1) * hashBytes);

  function add(hash: Buffer, step: number): void {
    const level = levels[step];
    if (level === undefined || level.count === level.width) throw new RangeError(`a tree of ${size} leaves is full`);
    const place = level.count++;
    hash.copy(level.hashes, place * hashBytes);
    if (step === top) return;
    if (place % 2 === 1) add(nodeHash(at(step, place - 1), hash), step + 1);
    // Without a sibling a node moves up as it is.
    else if (place === level.width - 1) add(hash, step + 1);
  }

  return {
    append: (leaf) => add(leaf, 0),
    root() {
      if (size === 0) return digest();
      if (levels[top]?.count !== 1) throw new RangeError(`a tree of ${size} leaves has only ${levels[0]?.count}`);
      return Buffer.from(at(top, 0));
    },
    path: (place) =>
      Buffer.concat(
        levels.slice(0, -1).flatMap(({ width }, step) => {
          const sibling = (place >> step) ^ 1;
          return sibling < width ? [at(step, sibling)] : [];
        }),
      ),
  };
}

export function treeOf(leaves: readonly Buffer[]): Tree {
  const tree = createTree(leaves.length);
  for (const leaf of leaves) tree.append(leaf);
  return tree;
}

/** The hashes of a path, in hex. */
export function inHex(path: Buffer): string[] {
  return Array.from({ length: path.length / hashBytes }, (_, step) =>
    path.toString('hex', hashBytes * step, hashBytes * (step + 1)),
  );
}
