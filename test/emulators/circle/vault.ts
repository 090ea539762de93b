import { constants, generateKeyPairSync, privateDecrypt } from 'node:crypto';
import { CircleRefusal } from './refusal.ts';

/** Knows the entity secret, and opens what the client sealed it into. */
export interface Vault {
  readonly publicKeyPem: string;
  /** Refuses a wrong secret, and a sealed one that was seen before. */
  open(ciphertext: unknown): void;
}

export function createVault(entitySecret: string): Vault {
  const { publicKey, privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 });
  const seen = new Set<string>();
  return {
    publicKeyPem: publicKey.export({ type: 'spki', format: 'pem' }).toString(),
    open(ciphertext) {
      if (typeof ciphertext !== 'string')
        throw new CircleRefusal(400, 156013, 'The provided entity secret is invalid.');
      if (seen.has(ciphertext)) {
        throw new CircleRefusal(400, 156004, 'Reusing an entity secret ciphertext is not allowed.');
      }
      seen.add(ciphertext);
      let opened: string | undefined;
      try {
        const key = { key: privateKey, padding: constants.RSA_PKCS1_OAEP_PADDING, oaepHash: 'sha256' };
        opened = privateDecrypt(key, Buffer.from(ciphertext, 'base64')).toString('hex');
      } catch {
        opened = undefined;
      }
      if (opened !== entitySecret.toLowerCase()) {
        throw new CircleRefusal(400, 156013, 'The provided entity secret is invalid.');
      }
    },
  };
}
