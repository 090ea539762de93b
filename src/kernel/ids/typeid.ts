import { randomFillSync } from 'node:crypto';

/**
 * TypeIDs: a prefix and a UUIDv7 in base 32, which sort by creation time. Every request and every posting gets one, so
 * the code is written for speed; a test compares it with the reference implementation.
 */

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const base32Value = new Int8Array(128).fill(-1);
for (let value = 0; value < 32; value++) base32Value[alphabet.charCodeAt(value)] = value;
const hexValue = new Uint8Array(128);
for (let value = 0; value < 16; value++) hexValue[value.toString(16).charCodeAt(0)] = value;
/** The two characters of every ten bits. */
const pairs = Array.from({ length: 1024 }, (_, bits) => `${alphabet[bits >> 5]}${alphabet[bits & 31]}`);

// Random bytes are drawn in bulk, because each call to the system's generator is expensive.
const pool = Buffer.alloc(16 * 256);
let used = pool.length;

let lastMs = 0;
let sequence = 0;

/** A new UUIDv7 as 32 hex digits. Within one process they sort in creation order, even within a millisecond. */
export function newUuid(nowMs: number): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const bytes = pool.subarray(used, used + 16);
  used += 16;
  bytes.writeUIntBE(nowMs, 0, 6);
  // Twelve bits count within a millisecond (RFC 9562, 6.2), starting at a random value in the lower half.
  sequence = nowMs === lastMs ? (sequence + 1) & 0xfff : bytes.readUInt16BE(6) & 0x7ff;
  lastMs = nowMs;
  bytes.writeUInt16BE(0x7000 | sequence, 6);
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex');
}

/** Accepts a UUID with or without hyphens. */
export function toTypeId<Prefix extends string>(prefix: Prefix, uuid: string): `${Prefix}_${string}` {
  const hex = uuid.length === 32 ? uuid : uuid.replaceAll('-', '');
  // 128 bits are 26 characters of five bits each; the first holds only three. Five hex digits are four characters.
  let text = pairs[bitsOf(hex, 0, 2)] as string;
  for (let place = 2; place < 32; place += 5) {
    const bits = bitsOf(hex, place, place + 5);
    text += (pairs[bits >> 10] as string) + (pairs[bits & 1023] as string);
  }
  return `${prefix}_${text}`;
}

function bitsOf(hex: string, from: number, to: number): number {
  let bits = 0;
  for (let place = from; place < to; place++) bits = (bits << 4) | (hexValue[hex.charCodeAt(place)] ?? 0);
  return bits;
}

/** Returns the UUID as 32 hex digits, or undefined when the text is not an id with this prefix. */
export function fromTypeId(prefix: string, id: string): string | undefined {
  const start = prefix.length + 1;
  if (id.length !== start + 26 || !id.startsWith(`${prefix}_`)) return undefined;
  let hex = '';
  let bits = 0;
  let held = -2;
  for (let place = start; place < id.length; place++) {
    const value = base32Value[id.charCodeAt(place)] ?? -1;
    if (value < 0 || (place === start && value > 7)) return undefined;
    bits = (bits << 5) | value;
    held += 5;
    while (held >= 4) {
      held -= 4;
      hex += ((bits >> held) & 15).toString(16);
    }
    bits &= (1 << held) - 1;
  }
  return hex;
}
