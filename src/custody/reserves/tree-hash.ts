import { createCipheriv, createHmac, hash } from 'node:crypto';

/**
 * What keeps leaves unreadable to others. Everything derives from one key per tree, so that it need not be stored per
 * leaf, and disappears with the key.
 */
interface LeafSecrets {
  /** The nonces of consecutive leaves, concatenated. */
  nonces(firstPlace: number, count: number): Buffer;
  /** One per owner. */
  salt(owner: string): Buffer;
}

export function createLeafSecrets(key: Buffer): LeafSecrets {
  const nonceKey = derive(key, 'nonces');
  const saltKey = derive(key, 'salts');
  return {
    nonces(firstPlace, count) {
      // In counter mode the counter is the place, so any leaf's nonce is computed without the others.
      const counter = Buffer.alloc(16);
      counter.writeUInt32BE(firstPlace, 12);
      return createCipheriv('aes-256-ctr', nonceKey, counter).update(Buffer.alloc(count * nonceBytes));
    },
    // A truncated hash with a secret prefix of fixed length reveals nothing about other salts.
    salt: (owner) => hash('sha256', Buffer.concat([saltKey, Buffer.from(owner)]), 'buffer').subarray(0, saltBytes),
  };
}

function derive(key: Buffer, name: string): Buffer {
  return createHmac('sha256', key).update(name).digest();
}

/**
 * What is hashed, byte for byte. Every message begins with its kind and has a fixed length per kind, so that none can
 * be taken for another. Sums are 16 bytes, unsigned, and additions are checked. scripts/verify-proof.mjs implements the
 * same independently.
 */
const kinds = { leaf: 0, node: 1, owner: 2, tree: 3, root: 4 } as const;

const hashBytes = 32;
const sumBytes = 16;
/** A node as stored: its hash, then its sum. */
export const nodeBytes = hashBytes + sumBytes;
export const nonceBytes = 16;
const saltBytes = 16;

/** The first sum that does not fit. */
export const sumLimit = 1n << 128n;

// Buffers are reused: nothing runs between filling and hashing one, and a tree has a million messages.
const ownerMessage = Buffer.alloc(1 + hashBytes + saltBytes + hashBytes + sumBytes + 4, kinds.owner);
const leafMessage = Buffer.alloc(1 + hashBytes + 4 + hashBytes + sumBytes + nonceBytes, kinds.leaf);
const nodeMessage = Buffer.alloc(1 + 2 * nodeBytes, kinds.node);
const rootMessage = Buffer.alloc(1 + hashBytes + nodeBytes, kinds.root);

export interface TreeNode {
  readonly hash: Buffer;
  readonly sum: bigint;
}

export interface TreeName {
  readonly snapshotId: string;
  /** ISO 8601 in UTC with milliseconds, as published. */
  readonly at: string;
  readonly chain: string;
  readonly asset: string;
  readonly depth: number;
}

/** Part of every leaf of a tree, so that no leaf can be shown as part of another tree. */
export function treeTag({ snapshotId, at, chain, asset, depth }: TreeName): Buffer {
  const texts = ['paywright reserves 1', snapshotId, at, chain, asset].map((text) => digest(Buffer.from(text)));
  return digest(Buffer.concat([Buffer.of(kinds.tree), ...texts, Buffer.of(depth)]));
}

interface OwnerOpening {
  readonly tag: Buffer;
  readonly salt: Buffer;
  /** The account's handle, which is unique, so that no two accounts can be shown the same leaf. */
  readonly owner: string;
  /** The owner's whole balance in this tree and its number of leaves, so that none can be left out of a proof. */
  readonly balance: bigint;
  readonly leaves: number;
}

export function ownerHash({ tag, salt, owner, balance, leaves }: OwnerOpening): Buffer {
  tag.copy(ownerMessage, 1);
  salt.copy(ownerMessage, 33);
  digest(Buffer.from(owner)).copy(ownerMessage, 49);
  writeSum(ownerMessage, balance, 81);
  ownerMessage.writeUInt32BE(leaves, 97);
  return digest(ownerMessage);
}

interface LeafOpening {
  readonly tag: Buffer;
  readonly place: number;
  readonly owner: Buffer;
  readonly amount: bigint;
  /** Contains the nonce at `nonceAt`. */
  readonly nonces: Buffer;
  readonly nonceAt: number;
}

export function leafHash({ tag, place, owner, amount, nonces, nonceAt }: LeafOpening): Buffer {
  tag.copy(leafMessage, 1);
  leafMessage.writeUInt32BE(place, 33);
  owner.copy(leafMessage, 37);
  writeSum(leafMessage, amount, 69);
  nonces.copy(leafMessage, 85, nonceAt, nonceAt + nonceBytes);
  return digest(leafMessage);
}

/** A node contains both children's sums, not only their total: otherwise a sum could be hidden behind a larger one. */
export function joinNodes(left: TreeNode, right: TreeNode): TreeNode {
  writeNode(nodeMessage, left, 1);
  writeNode(nodeMessage, right, 1 + nodeBytes);
  const sum = left.sum + right.sum;
  if (sum >= sumLimit) throw new RangeError('the sum of a tree does not fit in 16 bytes');
  return { hash: digest(nodeMessage), sum };
}

/** The published root contains the total and the tree's tag. */
export function rootHash(tag: Buffer, top: TreeNode): Buffer {
  tag.copy(rootMessage, 1);
  writeNode(rootMessage, top, 33);
  return digest(rootMessage);
}

export function writeNode(target: Buffer, { hash: nodeHash, sum }: TreeNode, offset: number): void {
  nodeHash.copy(target, offset);
  writeSum(target, sum, offset + hashBytes);
}

export function readNode(source: Buffer, offset: number): TreeNode {
  const sumAt = offset + hashBytes;
  return {
    hash: source.subarray(offset, sumAt),
    sum: (source.readBigUInt64BE(sumAt) << 64n) | source.readBigUInt64BE(sumAt + 8),
  };
}

const sumView = new DataView(new ArrayBuffer(sumBytes));
const sumScratch = Buffer.from(sumView.buffer);

/** Through a view: writing a bigint into a buffer byte by byte costs a quarter of the hash. */
function writeSum(target: Buffer, sum: bigint, offset: number): void {
  if (sum < 0n || sum >= sumLimit) throw new RangeError(`${sum} does not fit in 16 bytes`);
  sumView.setBigUint64(0, sum >> 64n);
  sumView.setBigUint64(8, sum & 0xffff_ffff_ffff_ffffn);
  sumScratch.copy(target, offset);
}

function digest(message: Uint8Array): Buffer {
  return hash('sha256', message, 'buffer');
}
