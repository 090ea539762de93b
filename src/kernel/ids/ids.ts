import { createHash, randomBytes, randomInt } from 'node:crypto';
import { newUuid, toTypeId } from './typeid.ts';

/** Prefixed ids that sort by creation time (TypeID). */
export type IdPrefix =
  | 'req'
  | 'aud'
  | 'dec'
  | 'anc'
  | 'key'
  | 'ses'
  | 'pky'
  | 'wal'
  | 'msg'
  | 'dep'
  | 'wdr'
  | 'swe'
  | 'csw'
  | 'rsv'
  | 'mov'
  | 'whk'
  | 'dlv'
  | 'evt'
  | 'inv'
  | 'brg'
  | 'swp'
  | 'fnd'
  | 'ord'
  | 'rfd'
  | 'npy'
  | 'stl'
  | 'pur'
  | 'apr';

export function newId<Prefix extends IdPrefix>(prefix: Prefix): `${Prefix}_${string}` {
  return toTypeId(prefix, newUuid(Date.now()));
}

const base62 = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';

/** Uniform base-62 text: bytes above the last full multiple of 62 are discarded, not wrapped around. */
export function randomBase62(length: number): string {
  let text = '';
  while (text.length < length) {
    for (const byte of randomBytes(length * 2)) {
      if (byte < 248 && text.length < length) text += base62[byte % 62];
    }
  }
  return text;
}

const handleAlphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789';

export function randomHandle(): string {
  return `PA-${Array.from({ length: 8 }, () => handleAlphabet[randomInt(36)]).join('')}`;
}

export function randomDigits(length: number): string {
  return Array.from({ length }, () => randomInt(10)).join('');
}

export function toBase62(value: number, length: number): string {
  let text = '';
  for (let rest = value, place = 0; place < length; place++) {
    text = base62[rest % 62] + text;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/** Derives a UUID from text. It is formatted as version 4, because some APIs accept only that version. */
export function uuidFrom(text: string): string {
  const bytes = createHash('sha256').update(text).digest().subarray(0, 16);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x40;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  const hex = bytes.toString('hex');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
