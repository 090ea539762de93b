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
 * What the operator's secret hashes. Each purpose derives a key of its own, so that one cannot be used to attack
 * another. Hashes are only compared, never opened.
 */
export const hashPurposes = [
  'api-keys',
  'verification-codes',
  'funding-links',
  'payment-credentials',
  'password-resets',
  'owner-sessions',
  'recovery-codes',
  /** What passkeys sign. */
  'challenges',
  /** The tokens of forms on the owner's pages. */
  'forms',
  /** The tokens of connected clients, and the ids of clients that registered themselves. */
  'oauth',
  /**
   * Fingerprints of requests with an Idempotency-Key. Every transfer needs one, so its hash is half as long and
   * several times faster.
   */
  'requests',
] as const;

type HashPurpose = (typeof hashPurposes)[number];

/** What the operator's secret seals. The feature that stores it must declare it, or a rotation would miss it. */
export const sealPurposes = [
  'wallet-seed',
  'messages',
  'totp-secrets',
  /** A sign-in whose password was right, until its second factor is. */
  'sign-ins',
  'webhook-secrets',
  'merchant-orders',
  'agent-keys',
  'sandbox-on-ramp',
  'purchases',
  'approvals',
  /** The keys that sign decision roots. */
  'decision-keys',
  /** The hash keys of replaced secrets. */
  'hash-keys',
] as const;

export type SealPurpose = (typeof sealPurposes)[number];

/** Everything that needs the operator's secret. The secret itself never leaves this object. */
export interface Secrets {
  /** A keyed hash: without the secret, a guess cannot be tested against it. */
  hash(purpose: HashPurpose, text: string): Buffer;
  /** The hashes that the database may hold for this text: by the current secret first, then by earlier ones. */
  hashes(purpose: HashPurpose, text: string): readonly Buffer[];
  /** Authenticated encryption. `open` throws when the data was altered or sealed with an unknown secret. */
  seal(purpose: SealPurpose, text: string): Buffer;
  open(purpose: SealPurpose, sealed: Buffer): string;
}

/** The derived hash keys of a secret. They cannot open sealed data. */
export type HashKeys = Readonly<Record<HashPurpose, string>>;

export interface OtherSecrets {
  /** During a rotation: secrets whose sealed data can be opened and whose hashes are recognised. */
  readonly others?: readonly string[];
  /** Hash keys of replaced secrets. Purposes that are newer than such a secret are missing. */
  readonly former?: readonly Partial<HashKeys>[];
}

const nonceBytes = 12;
const tagBytes = 16;

/** New data is hashed and sealed with the first secret only. */
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
          // It was sealed with another secret.
        }
      }
      return openWith((sealing.at(-1) ?? sealWith)[purpose], sealed);
    },
  };
}

/** Undefined where the data was sealed with another secret. */
export function tryOpen(secrets: Pick<Secrets, 'open'>, purpose: SealPurpose, sealed: Buffer): string | undefined {
  try {
    return secrets.open(purpose, sealed);
  } catch {
    return undefined;
  }
}

/** What must stay known of a replaced secret in order to recognise its hashes. */
export function hashKeysOf(secret: string): HashKeys {
  const keys = hashPurposes.map((purpose) => [purpose, derive(secret, purpose).toString('hex')]);
  return Object.fromEntries(keys) as HashKeys;
}

/** Identifies a secret without revealing it. */
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
 * The key as text fills exactly one SHA-256 block ahead of the text. Half of the digest is withheld, which prevents
 * length extension, so no HMAC is needed.
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
