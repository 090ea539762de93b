import { createHash } from 'node:crypto';

const versionFour = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

/**
 * Circle asks for version 4 of a UUID. Any other one stands for the same version 4 every time, so that what was written
 * down still names the request.
 */
export function requestKey(idempotencyKey: string): string {
  const key = idempotencyKey.toLowerCase();
  if (versionFour.test(key)) return key;
  const bytes = createHash('sha256').update(`circle:${key}`).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
