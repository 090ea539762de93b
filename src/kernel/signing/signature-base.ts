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

export type Headers = Readonly<Record<string, string | readonly string[] | undefined>>;

export interface RequestParts {
  readonly method: string;
  /** Host, and port unless it is the default one. */
  readonly authority: string;
  /** Path and query as in the request line. */
  readonly target: string;
  readonly headers: Headers;
}

const pathOf = (target: string) => target.split('?', 1)[0] ?? '';

/** The query with its question mark, or an empty string. */
export const queryOf = (target: string) => target.slice(pathOf(target).length);

/** The text to sign (RFC 9421, 2.5). Undefined when a component is unknown or missing. */
export function signatureBase(
  request: RequestParts,
  components: readonly string[],
  signatureParameters: string,
): string | undefined {
  const lines: string[] = [];
  for (const name of components) {
    const value = name.startsWith('@') ? derived(request, name) : headerOf(request.headers, name);
    // A line break in a value would let one component forge the next.
    if (value === undefined || !/^[\t -~]*$/.test(value)) return undefined;
    lines.push(`"${name}": ${value}`);
  }
  return [...lines, `"@signature-params": ${signatureParameters}`].join('\n');
}

/** Looks a header up by its lower-case name and joins several values (RFC 9421, 2.1). */
export function headerOf(headers: Headers, name: string): string | undefined {
  const values = Object.entries(headers)
    .filter(([key, value]) => value !== undefined && key.toLowerCase() === name)
    .flatMap(([, value]) => (typeof value === 'string' ? [value] : (value ?? [])));
  return values.length === 0 ? undefined : values.map((value) => value.trim()).join(', ');
}

function derived({ method, authority, target }: RequestParts, name: string): string | undefined {
  if (name === '@method') return method;
  if (name === '@authority') return authority.toLowerCase();
  if (name === '@path') return pathOf(target) || '/';
  if (name === '@query') return queryOf(target) || '?';
  if (name === '@request-target') return target;
  return undefined;
}
