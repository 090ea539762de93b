import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject, sign } from 'node:crypto';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';

interface KeyRow {
  readonly id: string;
  readonly publicKey: Buffer;
  readonly sealed: Buffer;
  readonly createdAt: Date;
  readonly retiredAt: Date | null;
}

/** As published. The keys of all roots stay there for ever. */
export interface PublishedKey {
  readonly id: string;
  readonly algorithm: 'Ed25519';
  /** The 32 bytes of RFC 8032, in hex. */
  readonly publicKey: string;
  readonly from: string;
  readonly until: string | null;
}

/** Oldest first. */
export async function listSigningKeys(db: Queryable): Promise<PublishedKey[]> {
  const { rows } = await db.query<KeyRow>(
    'SELECT id, public_key, created_at, retired_at FROM decision_keys ORDER BY created_at, id',
  );
  return rows.map(({ id, publicKey, createdAt, retiredAt }) => ({
    id,
    algorithm: 'Ed25519',
    publicKey: publicKey.toString('hex'),
    from: createdAt.toISOString(),
    until: retiredAt?.toISOString() ?? null,
  }));
}

export interface RootSigner {
  readonly keyId: string;
  sign(text: string): Buffer;
}

type Sealing = Pick<Secrets, 'seal' | 'open'>;

/** The key that signs now. The first use creates it. The caller holds the lock of decisions. */
export async function openSigner(tx: Transaction, secrets: Sealing): Promise<RootSigner> {
  const { rows } = await tx.query<KeyRow>('SELECT id, sealed FROM decision_keys WHERE retired_at IS NULL');
  const [row] = rows;
  if (row === undefined) return addSigner(tx, secrets);
  return signWith(
    row.id,
    createPrivateKey({ key: JSON.parse(secrets.open('decision-keys', row.sealed)), format: 'jwk' }),
  );
}

/** A new key signs from now on. The caller holds the lock of decisions. */
export async function replaceSigner(tx: Transaction, secrets: Sealing): Promise<RootSigner> {
  await tx.query('UPDATE decision_keys SET retired_at = clock_timestamp() WHERE retired_at IS NULL');
  return addSigner(tx, secrets);
}

async function addSigner(tx: Transaction, secrets: Sealing): Promise<RootSigner> {
  const { privateKey } = generateKeyPairSync('ed25519');
  const publicKey = publicBytes(privateKey);
  const id = createHash('sha256').update(publicKey).digest('hex').slice(0, 16);
  const text = JSON.stringify(privateKey.export({ format: 'jwk' }));
  await tx.query('INSERT INTO decision_keys (id, public_key, sealed) VALUES ($1, $2, $3)', [
    id,
    publicKey,
    secrets.seal('decision-keys', text),
  ]);
  return signWith(id, privateKey);
}

function signWith(keyId: string, privateKey: KeyObject): RootSigner {
  return { keyId, sign: (text) => sign(null, Buffer.from(text), privateKey) };
}

function publicBytes(privateKey: KeyObject): Buffer {
  return Buffer.from(createPublicKey(privateKey).export({ format: 'jwk' }).x as string, 'base64url');
}
