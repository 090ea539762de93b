import { randomBytes, randomInt } from 'node:crypto';
import { newUuid, toTypeId } from './typeid.ts';

/** Prefixed ids that sort by creation time (TypeID). */
export type IdPrefix =
  | 'req'
  | 'aud'
  | 'key'
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
  | 'pur';

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
