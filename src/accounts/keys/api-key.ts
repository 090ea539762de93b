import { crc32 } from 'node:zlib';
import { randomBase62, toBase62 } from '../../kernel/ids/ids.ts';

const prefix = 'pa_live_';
const randomLength = 32;
const checksumLength = 6;
const shape = new RegExp(`^${prefix}[0-9A-Za-z]{${randomLength + checksumLength}}$`);

/** `pa_live_`, 190 random bits, and a checksum by which secret scanners recognise real keys. */
export function newApiKey(): string {
  const body = prefix + randomBase62(randomLength);
  return body + checksum(body);
}

/** Checks the format only. */
export function looksLikeApiKey(text: string): boolean {
  return shape.test(text) && text.slice(-checksumLength) === checksum(text.slice(0, -checksumLength));
}

function checksum(text: string): string {
  return toBase62(crc32(text), checksumLength);
}
