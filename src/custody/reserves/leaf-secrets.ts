import { createCipheriv, createHmac, hash } from 'node:crypto';
import { nonceBytes, saltBytes } from './tree-hash.ts';

/**
 * What makes leaves say nothing to those who may not open them. All of it follows from one key per tree, so that it need
 * not be kept leaf by leaf, and is gone with the key.
 */
export interface LeafSecrets {
  /** The nonces of neighbouring leaves, one after the other. */
  nonces(firstPlace: number, count: number): Buffer;
  /** One for each owner. */
  salt(owner: string): Buffer;
}

export function createLeafSecrets(key: Buffer): LeafSecrets {
  const nonceKey = derive(key, 'nonces');
  const saltKey = derive(key, 'salts');
  return {
    nonces(firstPlace, count) {
      // In counter mode the counter is the place, so the nonce of any leaf is found without those before it.
      const counter = Buffer.alloc(16);
      counter.writeUInt32BE(firstPlace, 12);
      return createCipheriv('aes-256-ctr', nonceKey, counter).update(Buffer.alloc(count * nonceBytes));
    },
    // Half of a hash that begins with a secret of fixed length says nothing about any other.
    salt: (owner) => hash('sha256', Buffer.concat([saltKey, Buffer.from(owner)]), 'buffer').subarray(0, saltBytes),
  };
}

function derive(key: Buffer, name: string): Buffer {
  return createHmac('sha256', key).update(name).digest();
}
