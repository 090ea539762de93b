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
  /** Fingerprints of requests with an Idempotency-Key: see `digest`. */
  'requests',
] as const;

type KeyPurpose = (typeof hashPurposes)[number];
type HashPurpose = Exclude<KeyPurpose, 'requests'>;

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
  /** Of a request, as 32 hex digits. Every transfer needs one, so it is half as long as a hash and several times faster. */
  digest(request: string): string;
  /** What earlier secrets made of it. Left out when there were none. */
  readonly formerDigests?: (request: string) => readonly string[];
  /** Authenticated encryption. `open` throws when the data was altered or sealed with an unknown secret. */
  seal(purpose: SealPurpose, text: string): Buffer;
  open(purpose: SealPurpose, sealed: Buffer): string;
}

/** The derived hash keys of a secret. They cannot open sealed data. */
export type HashKeys = Readonly<Record<KeyPurpose, string>>;

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
  const hashKeys = hashKeysOf(secret);
  const earlierKeys = [...others.map(hashKeysOf), ...former];
  const hashWith = hashersOf(hashKeys) as Hashers;
  const earlier = earlierKeys.map(hashersOf);
  const digestKeys = earlierKeys.flatMap(({ requests }) => requests ?? []);

  return {
    hash: (purpose, text) => hashWith[purpose](text),
    hashes: (purpose, text) => [hashWith, ...earlier].flatMap(({ [purpose]: hasher }) => hasher?.(text) ?? []),
    digest: (request) => digestWith(hashKeys.requests, request),
    ...(digestKeys.length > 0 && {
      formerDigests: (request: string) => digestKeys.map((key) => digestWith(key, request)),
    }),

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

function derive(secret: string, purpose: KeyPurpose | SealPurpose): Buffer {
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
    return key === undefined || purpose === 'requests' ? [] : [[purpose, hmacHasher(Buffer.from(key, 'hex'))]];
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
function digestWith(key: string, text: string): string {
  return hash('sha256', key + text, 'hex').slice(0, 32);
}

function openWith(key: KeyObject, sealed: Buffer): string {
  const decipher = createDecipheriv('aes-256-gcm', key, sealed.subarray(0, nonceBytes));
  decipher.setAuthTag(sealed.subarray(nonceBytes, nonceBytes + tagBytes));
  const body = sealed.subarray(nonceBytes + tagBytes);
  return Buffer.concat([decipher.update(body), decipher.final()]).toString('utf8');
}
