import {
  createCipheriv,
  createDecipheriv,
  createHmac,
  createSecretKey,
  hash,
  hkdfSync,
  type KeyObject,
  randomBytes,
} from 'node:crypto';

/**
 * What the operator's one secret is used for. Each purpose gets a key of its own, so that none of them can be turned
 * against another. These are only ever recognised again.
 */
export const hashPurposes = [
  'api-keys',
  'verification-codes',
  'funding-links',
  'payment-credentials',
  'password-resets',
  /** Of what came with an Idempotency-Key. Every transfer needs one: it is half as long, and several times as fast. */
  'requests',
] as const;

type HashPurpose = (typeof hashPurposes)[number];

/** These are opened again. Each is declared by the feature that keeps it, or a new secret would leave it behind. */
export const sealPurposes = [
  'wallet-seed',
  'messages',
  'webhook-secrets',
  'merchant-orders',
  'agent-keys',
  'sandbox-on-ramp',
  'purchases',
  /** What secrets before this one have hashed with. */
  'hash-keys',
] as const;

export type SealPurpose = (typeof sealPurposes)[number];

/** Everything that needs the operator's secret. The secret itself never leaves this object. */
export interface Secrets {
  /** A keyed hash: equal inputs are recognised, and nobody without the secret can test a guess. */
  hash(purpose: HashPurpose, text: string): Buffer;
  /** The same text as it may stand in the database: hashed with this secret (first), or with one that was there before. */
  hashes(purpose: HashPurpose, text: string): readonly Buffer[];
  /** Authenticated encryption. `open` throws when the text was sealed under a secret that is not known or altered. */
  seal(purpose: SealPurpose, text: string): Buffer;
  open(purpose: SealPurpose, sealed: Buffer): string;
}

/** With what a secret hashes, for each purpose. Nothing that it has sealed can be opened with them. */
export type HashKeys = Readonly<Record<HashPurpose, string>>;

export interface OtherSecrets {
  /** Secrets whose seals can be opened and whose hashes are recognised, while one takes the place of another. */
  readonly others?: readonly string[];
  /** Of secrets that are gone. What has become a purpose only after them, none of them has hashed. */
  readonly former?: readonly Partial<HashKeys>[];
}

const nonceBytes = 12;
const tagBytes = 16;

/** Everything new is hashed and sealed with the first secret alone. */
export function createSecrets(secret: string, { others = [], former = [] }: OtherSecrets = {}): Secrets {
  const sealing = [secret, ...others].map(sealKeysOf);
  const [sealWith] = sealing;
  if (sealWith === undefined) throw new Error('there is no secret');
  const hashWith = hashersOf(hashKeysOf(secret)) as Hashers;
  const earlier = [...others.map(hashKeysOf), ...former].map(hashersOf);

  return {
    hash: (purpose, text) => hashWith[purpose](text),
    hashes: (purpose, text) => [hashWith, ...earlier].flatMap(({ [purpose]: hasher }) => hasher?.(text) ?? []),

    seal(purpose, text) {
      const nonce = randomBytes(nonceBytes);
      const cipher = createCipheriv('aes-256-gcm', sealWith[purpose], nonce);
      const body = Buffer.concat([cipher.update(text, 'utf8'), cipher.final()]);
      return Buffer.concat([nonce, cipher.getAuthTag(), body]);
    },

    open(purpose, sealed) {
      for (const keys of sealing.slice(0, -1)) {
        try {
          return openWith(keys[purpose], sealed);
        } catch {
          // Sealed with another one.
        }
      }
      return openWith((sealing.at(-1) ?? sealWith)[purpose], sealed);
    },
  };
}

/** What has to stay known of a secret that another one replaces, for what was hashed with it to be recognised. */
export function hashKeysOf(secret: string): HashKeys {
  const keys = hashPurposes.map((purpose) => [purpose, derive(secret, purpose).toString('hex')]);
  return Object.fromEntries(keys) as HashKeys;
}

/** By which a secret is known without being known. */
export function fingerprintOf(secret: string): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, 'paywright', 'fingerprint', 16));
}

function derive(secret: string, purpose: HashPurpose | SealPurpose): Buffer {
  return Buffer.from(hkdfSync('sha256', secret, 'paywright', purpose, 32));
}

function sealKeysOf(secret: string): Readonly<Record<SealPurpose, KeyObject>> {
  const keys = sealPurposes.map((purpose) => [purpose, createSecretKey(derive(secret, purpose))]);
  return Object.fromEntries(keys) as Record<SealPurpose, KeyObject>;
}

type Hasher = (text: string) => Buffer;

type Hashers = Readonly<Record<HashPurpose, Hasher>>;

function hashersOf(keys: Partial<HashKeys>): Partial<Hashers> {
  const hashers = hashPurposes.flatMap((purpose) => {
    const key = keys[purpose];
    if (key === undefined) return [];
    return [[purpose, purpose === 'requests' ? quickHasher(key) : hmacHasher(Buffer.from(key, 'hex'))]];
  });
  return Object.fromEntries(hashers) as Partial<Hashers>;
}

function hmacHasher(key: Buffer): Hasher {
  return (text) => createHmac('sha256', key).update(text).digest();
}

/**
 * The key, as text, is one whole block of SHA-256 before the text. Of the result one half is withheld, without which nobody can go
 * on from it to the hash of a longer text, which is what an HMAC is otherwise needed for.
 */
function quickHasher(key: string): Hasher {
  return (text) => Buffer.from(hash('sha256', key + text, 'hex').slice(0, 32), 'hex');
}

function openWith(key: KeyObject, sealed: Buffer): string {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, nonceBytes));
  decipher.setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
  const body = sealed.subarray(nonceBytes + tagBytes);
  return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
}
