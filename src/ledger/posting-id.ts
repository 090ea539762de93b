import { randomFillSync } from 'node:crypto';

/** A posting is known outside as trf_…, a TypeID: a UUIDv7 in base 32. The database keeps the UUID. */
export type PostingId = `trf_${string}`;

const alphabet = '0123456789abcdefghjkmnpqrstvwxyz';
const digitValues = new Int8Array(128).fill(-1);
for (let value = 0; value < 32; value++) digitValues[alphabet.charCodeAt(value)] = value;

// Random bytes are drawn in bulk: one call to the system's generator costs more than everything else here.
const pool = Buffer.alloc(16 * 256);
let used = pool.length;

/** The new id as the database keeps it, 32 hex digits. */
export function newPostingUuid(nowMs: number): string {
  if (used === pool.length) {
    randomFillSync(pool);
    used = 0;
  }
  const bytes = pool.subarray(used, used + 16);
  used += 16;
  bytes.writeUIntBE(nowMs, 0, 6);
  bytes[6] = ((bytes[6] ?? 0) & 0x0f) | 0x70;
  bytes[8] = ((bytes[8] ?? 0) & 0x3f) | 0x80;
  return bytes.toString('hex');
}

export function newPostingId(): PostingId {
  return toPostingId(newPostingUuid(Date.now()));
}

/** From a UUID with or without its hyphens. */
export function toPostingId(uuid: string): PostingId {
  return `trf_${toBase32(uuid)}`;
}

export function toEventId(uuid: string): `evt_${string}` {
  return `evt_${toBase32(uuid)}`;
}

function toBase32(uuid: string): string {
  const hex = uuid.length === 32 ? uuid : uuid.replaceAll('-', '');
  // 128 bits are 26 characters of five bits, of which the first holds only three.
  let text = '';
  let bits = 0;
  let held = 2;
  for (let place = 0; place < 32; place++) {
    bits = (bits << 4) | Number.parseInt(hex[place] ?? '', 16);
    held += 4;
    if (held >= 5) {
      held -= 5;
      text += alphabet[(bits >> held) & 31];
      bits &= (1 << held) - 1;
    }
  }
  return text;
}

/** Undefined when the text is not the id of a posting. */
export function toPostingUuid(id: string): string | undefined {
  if (id.length !== 30 || !id.startsWith('trf_')) return undefined;
  let hex = '';
  let bits = 0;
  let held = -2;
  for (let place = 4; place < 30; place++) {
    const value = digitValues[id.charCodeAt(place)] ?? -1;
    if (value < 0 || (place === 4 && value > 7)) return undefined;
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
