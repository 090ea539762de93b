import { createHash, timingSafeEqual } from 'node:crypto';
import { readDictionary } from './structured-fields.ts';

export type Body = string | Uint8Array | undefined;

export const hasBody = (body: Body): body is string | Uint8Array => body !== undefined && body.length > 0;

/** The header that ties the body to the signature (RFC 9530). */
export function contentDigest(body: string | Uint8Array): string {
  return `sha-256=:${createHash('sha256').update(body).digest('base64')}:`;
}

const algorithms = { 'sha-256': 'sha256', 'sha-512': 'sha512' } as const;

/** Requires at least one known digest, and that all known digests match. */
export function isDigestOf(header: string, body: Body): boolean {
  const digests = readDictionary(header);
  if (digests === undefined) return false;
  const known = Object.entries(algorithms).flatMap(([name, algorithm]) => {
    const given = digests.get(name);
    return given === undefined ? [] : [{ given: given.value, algorithm }];
  });
  return known.length > 0 && known.every(({ given, algorithm }) => isEqual(given, hash(algorithm, body ?? '')));
}

function hash(algorithm: string, body: string | Uint8Array): Buffer {
  return createHash(algorithm).update(body).digest();
}

function isEqual(given: unknown, expected: Buffer): boolean {
  return given instanceof Uint8Array && given.length === expected.length && timingSafeEqual(given, expected);
}
