import { createCipheriv, createHmac, hash } from 'node:crypto';
import { nonceBytes, saltBytes } from './tree-hash.ts';

/**
 * What keeps leaves unreadable to others. Everything derives from one key per tree, so that it need not be stored per
 * leaf, and disappears with the key.
 */
export interface LeafSecrets {
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
