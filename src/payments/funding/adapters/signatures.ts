import { createHmac, timingSafeEqual } from 'node:crypto';
import type { IncomingHttpHeaders } from 'node:http';
import type { Clock } from '../../../kernel/clock.ts';
import { InvalidSignature } from '../on-ramp.ts';

/** Older signatures may be replays; the same margin allows for clock skew. */
const toleranceMs = 5 * 60_000;

export function readSignatureHeader(headers: IncomingHttpHeaders, name: string): ReadonlyMap<string, string> {
  const header = headers[name];
  if (typeof header !== 'string' || header.length > 2_000) throw new InvalidSignature('the signature is missing');
  return new Map(
    header.split(',').map((pair) => {
      const equals = pair.indexOf('=');
      return [pair.slice(0, equals).trim(), pair.slice(equals + 1).trim()];
    }),
  );
}

export function requireHmac(secret: string, signed: readonly (string | Buffer)[], hex: string | undefined): void {
  const hmac = createHmac('sha256', secret);
  for (const piece of signed) hmac.update(piece);
  const given = Buffer.from(/^[0-9a-f]{64}$/i.test(hex ?? '') ? (hex ?? '') : '', 'hex');
  const expected = hmac.digest();
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw new InvalidSignature('the signature does not match the body');
  }
}

export function requireFresh(clock: Clock, seconds: string | undefined): void {
  if (seconds === undefined || !/^\d{1,12}$/.test(seconds)) throw new InvalidSignature('the timestamp is missing');
  if (Math.abs(clock.now() - Number(seconds) * 1_000) > toleranceMs) {
    throw new InvalidSignature('the timestamp is more than five minutes off');
  }
}

/** Makes third-party text short and harmless enough for a page. */
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
