import { createPublicKey, verify } from 'node:crypto';
import { promisify } from 'node:util';

const verifyInPool = promisify(verify);

type Fields = Readonly<Record<string, unknown>>;

interface Algorithm {
  readonly jwa: readonly string[];
  /** The `alg` parameter of a signature (RFC 9421, 6.2). */
  readonly name: string;
  readonly hash: string | undefined;
  readonly signatureBytes: number;
}

const algorithms: Readonly<Record<string, Algorithm>> = {
  'EC P-256': { jwa: ['ES256'], name: 'ecdsa-p256-sha256', hash: 'sha256', signatureBytes: 64 },
  'EC P-384': { jwa: ['ES384'], name: 'ecdsa-p384-sha384', hash: 'sha384', signatureBytes: 96 },
  'OKP Ed25519': { jwa: ['EdDSA', 'Ed25519'], name: 'ed25519', hash: undefined, signatureBytes: 64 },
};

/** The algorithm follows from the key alone; the signature's own claim decides nothing. */
export function algorithmOf(jwk: Fields): Algorithm | undefined {
  const algorithm = algorithms[`${String(jwk['kty'])} ${String(jwk['crv'])}`];
  const { alg } = jwk;
  if (algorithm === undefined || (alg !== undefined && !algorithm.jwa.includes(String(alg)))) return undefined;
  return algorithm;
}

/**
 * Returns false for an unreadable key. Verification runs in the thread pool, because strangers decide how often it
 * happens and it must not block the event loop.
 */
export async function isSignedBy(jwk: Fields, text: string, signature: Uint8Array): Promise<boolean> {
  const algorithm = algorithmOf(jwk);
  if (algorithm === undefined || signature.length !== algorithm.signatureBytes) return false;
  try {
    const { kty, crv, x, y } = jwk as Readonly<Record<string, string>>;
    const key = createPublicKey({ key: { kty, crv, x, y } as Record<string, string>, format: 'jwk' });
    return await verifyInPool(algorithm.hash, Buffer.from(text), { key, dsaEncoding: 'ieee-p1363' }, signature);
  } catch {
    return false;
  }
}
