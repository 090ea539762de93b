import { createCipheriv, createDecipheriv, createHmac, hkdfSync, randomBytes } from 'node:crypto';

/**
 * What the operator's one secret is used for. Each purpose gets a key of its own, so that none of them can be turned
 * against another.
 */
type Purpose =
  | 'api-keys'
  | 'verification-codes'
  | 'wallet-seed'
  | 'messages'
  | 'webhook-secrets'
  | 'funding-links'
  | 'merchant-orders'
  | 'payment-credentials'
  | 'agent-keys'
  | 'sandbox-on-ramp'
  | 'purchases';

/** Everything that needs the operator's secret. The secret itself never leaves this object. */
export interface Secrets {
  /** A keyed hash: equal inputs are recognised, and nobody without the secret can test a guess. */
  hash(purpose: Purpose, text: string): Buffer;
  /** Authenticated encryption. `open` throws when the text was sealed under another secret or altered. */
  seal(purpose: Purpose, text: string): Buffer;
  open(purpose: Purpose, sealed: Buffer): string;
}

const nonceBytes = 12;
const tagBytes = 16;

export function createSecrets(secret: string): Secrets {
  const keys = new Map<Purpose, Buffer>();

  function keyFor(purpose: Purpose): Buffer {
    const known = keys.get(purpose);
    if (known) return known;
    const derived = Buffer.from(hkdfSync('sha256', secret, 'paywright', purpose, 32));
    keys.set(purpose, derived);
    return derived;
  }

  return {
    hash: (purpose, text) => createHmac('sha256', keyFor(purpose)).update(text).digest(),

    seal(purpose, text) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', keyFor(purpose), nonce);
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]);
    },

    open(purpose, sealed) {
      const decipher = createDecipheriv('aes-256-gcm', keyFor(purpose), sealed.subarray(0, nonceBytes));
      decipher.setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
      const body = sealed.subarray(nonceBytes + tagBytes);
      return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
    },
  };
}
