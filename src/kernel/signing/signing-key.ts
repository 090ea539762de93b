import { createHash, createPrivateKey, createPublicKey, generateKeyPairSync, type KeyObject } from 'node:crypto';

/** The public key as published in a profile (RFC 7517). */
export interface PublicJwk {
  readonly kid: string;
  readonly kty: 'EC';
  readonly crv: 'P-256';
  readonly x: string;
  readonly y: string;
  readonly use: 'sig';
  readonly alg: 'ES256';
}

export interface SigningKey {
  readonly kid: string;
  readonly privateKey: KeyObject;
  readonly publicJwk: PublicJwk;
}

/** ES256 is the one algorithm that every verifier of UCP signatures must support. */
export function createSigningKey(): SigningKey {
  return describeKey(generateKeyPairSync('ec', { namedCurve: 'P-256' }).privateKey);
}

/** The private key as text. It must be stored sealed. */
export function exportSigningKey({ privateKey }: SigningKey): string {
  return JSON.stringify(privateKey.export({ format: 'jwk' }));
}

export function importSigningKey(text: string): SigningKey {
  return describeKey(createPrivateKey({ key: JSON.parse(text), format: 'jwk' }));
}

function describeKey(privateKey: KeyObject): SigningKey {
  const { kty, crv, x, y } = createPublicKey(privateKey).export({ format: 'jwk' });
  if (kty !== 'EC' || crv !== 'P-256' || x === undefined || y === undefined) throw new Error('not a key for ES256');
  // The RFC 7638 thumbprint, so that the same key always has the same id.
  const kid = createHash('sha256').update(JSON.stringify({ crv, kty, x, y })).digest('base64url');
  return { kid, privateKey, publicJwk: { kid, kty, crv, x, y, use: 'sig', alg: 'ES256' } };
}
