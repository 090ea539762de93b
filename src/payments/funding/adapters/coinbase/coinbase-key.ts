import { createPrivateKey, type KeyObject, randomBytes, sign } from 'node:crypto';

/** Coinbase issues keys in two forms. Undefined when the text is neither. */
export function readCoinbaseKey(text: string): KeyObject | undefined {
  try {
    // Environment variables often hold the line breaks of a PEM file as \n.
    if (text.includes('-----BEGIN')) return onlyP256(createPrivateKey(text.replaceAll('\\n', '\n')));
    const bytes = Buffer.from(text, 'base64');
    if (bytes.length !== 64) return undefined;
    const part = (from: number) => bytes.subarray(from, from + 32).toString('base64url');
    return createPrivateKey({ key: { kty: 'OKP', crv: 'Ed25519', d: part(0), x: part(32) }, format: 'jwk' });
  } catch {
    return undefined;
  }
}

function onlyP256(key: KeyObject): KeyObject | undefined {
  return key.asymmetricKeyDetails?.namedCurve === 'prime256v1' ? key : undefined;
}

export interface TokenFor {
  readonly keyId: string;
  readonly key: KeyObject;
  readonly method: string;
  readonly host: string;
  readonly path: string;
  readonly nowMs: number;
}

const validSeconds = 120;

export function bearerToken({ keyId, key, method, host, path, nowMs }: TokenFor): string {
  const isEd25519 = key.asymmetricKeyType === 'ed25519';
  const now = Math.floor(nowMs / 1_000);
  const head = { alg: isEd25519 ? 'EdDSA' : 'ES256', typ: 'JWT', kid: keyId, nonce: randomBytes(16).toString('hex') };
  const claims = {
    sub: keyId,
    iss: 'cdp',
    iat: now,
    nbf: now,
    exp: now + validSeconds,
    uris: [`${method} ${host}${path}`],
  };
  const content = [head, claims].map((part) => Buffer.from(JSON.stringify(part)).toString('base64url')).join('.');
  const signature = isEd25519
    ? sign(null, Buffer.from(content), key)
    : sign('sha256', Buffer.from(content), { key, dsaEncoding: 'ieee-p1363' });
  return `${content}.${signature.toString('base64url')}`;
}
