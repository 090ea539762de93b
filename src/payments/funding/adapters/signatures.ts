import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../../../kernel/clock.ts';
import { InvalidSignature } from '../on-ramp.ts';

/** What was signed longer ago, or by a clock that runs further ahead, may be somebody's copy. */
const toleranceMs = 5 * 60_000;

/** Both companies put name=value pairs into one header, with commas between. */
export function readSignatureHeader(headers: IncomingHttpHeaders, name: string): ReadonlyMap<string, string> {
  const header = headers[name];
  if (typeof header !== 'string' || header.length > 2_000) throw new InvalidSignature('there is no signature');
  return new Map(
    header.split(',').map((pair) => {
      const equals = pair.indexOf('=');
      return [pair.slice(0, equals).trim(), pair.slice(equals + 1).trim()];
    }),
  );
}

/** Compares in constant time, whatever was sent. */
export function requireHmac(secret: string, signed: readonly (string | Buffer)[], hex: string | undefined): void {
  const hmac = createHmac('sha256', secret);
  for (const piece of signed) hmac.update(piece);
  const given = Buffer.from(/^[0-9a-f]{64}$/i.test(hex ?? '') ? (hex ?? '') : '', 'hex');
  const expected = hmac.digest();
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw new InvalidSignature('the signature is not of these bytes');
  }
}

export function requireFresh(clock: Clock, seconds: string | undefined): void {
  if (seconds === undefined || !/^\d{1,12}$/.test(seconds))
    throw new InvalidSignature('it does not say when it was signed');
  if (Math.abs(clock.now() - Number(seconds) * 1_000) > toleranceMs) {
    throw new InvalidSignature('it was signed too long ago, or not yet');
  }
}

/** What a stranger says in words, short enough for a page and without what is not a word. */
export function plainReason(text: string | null | undefined): string | undefined {
  const plain = (text ?? '')
    .replace(/^(FAILURE_REASON|ERROR_CODE)_/, '')
    .replaceAll(/[^\w ,.'-]/g, '')
    .replaceAll('_', ' ')
    .trim()
    .toLowerCase()
    .slice(0, 120);
  return plain === '' || plain === 'unspecified' ? undefined : plain;
}
