import { sign } from 'node:crypto';
import { systemClock } from '../clock.ts';
import { type Body, contentDigest, type Headers, hasBody, headerOf, signatureBase } from './signature-base.ts';
import type { SigningKey } from './signing-key.ts';

export interface RequestToSign {
  readonly method: string;
  readonly url: string;
  readonly headers: Headers;
  /** Exactly the bytes that are sent. */
  readonly body?: Body;
}

/** These headers are signed if present. */
const signedHeaders = ['ucp-agent', 'idempotency-key', 'content-digest', 'content-type'];

/** Returns the additional headers of a signed request (RFC 9421). */
export function signRequest(
  { method, url, headers, body }: RequestToSign,
  key: SigningKey,
  { now = systemClock.now() }: { readonly now?: number } = {},
): Record<string, string> {
  const { host: authority, pathname, search } = new URL(url);
  const digest = hasBody(body) ? { 'Content-Digest': contentDigest(body) } : {};
  const all = { ...headers, ...digest };
  const components = [
    '@method',
    '@authority',
    '@path',
    ...(search === '' ? [] : ['@query']),
    ...signedHeaders.filter((name) => headerOf(all, name) !== undefined),
  ];
  const listed = components.map((name) => `"${name}"`).join(' ');
  const parameters = `(${listed});created=${Math.floor(now / 1000)};keyid="${key.kid}"`;
  const base = signatureBase({ method, authority, target: pathname + search, headers: all }, components, parameters);
  if (base === undefined) throw new Error('a header to be signed contains characters other than printable ASCII');
  const signature = sign('sha256', Buffer.from(base), { key: key.privateKey, dsaEncoding: 'ieee-p1363' });
  return { ...digest, 'Signature-Input': `sig1=${parameters}`, Signature: `sig1=:${signature.toString('base64')}:` };
}
