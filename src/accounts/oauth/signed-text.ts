import { timingSafeEqual } from 'node:crypto';
import type { Secrets } from '../../kernel/secrets/secrets.ts';

type Signer = Pick<Secrets, 'hash' | 'hashes'>;

/** `prefix` + text + "." + a keyed hash of both. The service recognises it later without having stored it. */
export function signText({ hash }: Signer, prefix: string, text: string): string {
  const body = `${prefix}${text}`;
  return `${body}.${hash('oauth', body).toString('base64url')}`;
}

/** The text, or undefined where this service has not signed it. */
export function openSignedText({ hashes }: Signer, prefix: string, signed: string): string | undefined {
  const end = signed.lastIndexOf('.');
  if (!signed.startsWith(prefix) || end < prefix.length) return undefined;
  const body = signed.slice(0, end);
  const given = Buffer.from(signed.slice(end + 1), 'base64url');
  const isOurs = hashes('oauth', body).some((hash) => hash.length === given.length && timingSafeEqual(hash, given));
  // The last character of base64url has spare bits, so other spellings decode to the same bytes.
  return isOurs && given.toString('base64url') === signed.slice(end + 1) ? body.slice(prefix.length) : undefined;
}
