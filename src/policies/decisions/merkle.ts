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

/** Every level of a tree, from the leaves to the root. Without a sibling a node moves up as it is, which gives the tree of RFC 6962. */
export function levelsOf(leaves: readonly Buffer[]): readonly (readonly Buffer[])[] {
  const levels: Buffer[][] = [[...leaves]];
  for (let level = levels[0] as Buffer[]; level.length > 1; ) {
    const above: Buffer[] = [];
    for (let index = 0; index < level.length; index += 2) {
      const [left, right] = [level[index] as Buffer, level[index + 1]];
      above.push(right === undefined ? left : nodeHash(left, right));
    }
    levels.push(above);
    level = above;
  }
  return levels;
}

/** Of no leaves: the hash of nothing. */
export function rootOf(levels: readonly (readonly Buffer[])[]): Buffer {
  return levels.at(-1)?.[0] ?? digest();
}

/** The siblings on the way from a leaf to the root. */
export function pathOf(levels: readonly (readonly Buffer[])[], place: number): Buffer[] {
  return levels.slice(0, -1).flatMap((level, step) => level[(place >> step) ^ 1] ?? []);
}
