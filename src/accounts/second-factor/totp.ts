import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/** Codes of an authenticator app: RFC 6238 with SHA-1, six digits and 30 seconds, which every app understands. */
const stepMs = 30_000;
const digits = 6;

/** How many steps the clocks of the service and the phone may differ, each way. */
const drift = 1n;

export function newTotpSecret(): Buffer {
  return randomBytes(20);
}

export function stepAt(ms: number): bigint {
  return BigInt(Math.floor(ms / stepMs));
}

export function totpCode(secret: Buffer, step: bigint): string {
  const counter = Buffer.alloc(8);
  counter.writeBigUInt64BE(step);
  const digest = createHmac('sha1', secret).update(counter).digest();
  const number = digest.readUInt32BE((digest.at(-1) ?? 0) & 0xf) & 0x7fffffff;
  return String(number % 10 ** digits).padStart(digits, '0');
}

interface Match {
  readonly secret: Buffer;
  readonly code: string;
  readonly ms: number;
  /** The step of the last accepted code. That code and earlier ones are not accepted again. */
  readonly lastStep: bigint;
}

/** The step that the code belongs to. Undefined when it is wrong, too old or was accepted before. */
export function matchingStep({ secret, code, ms, lastStep }: Match): bigint | undefined {
  const now = stepAt(ms);
  const given = Buffer.from(code);
  return [now - drift, now, now + drift].find((step) => {
    if (step <= lastStep) return false;
    const right = Buffer.from(totpCode(secret, step));
    return given.length === right.length && timingSafeEqual(given, right);
  });
}

const base32 = 'ABCDEFGHIJKLMNOPQRSTUVWXYZ234567';

/** The secret as apps expect it (RFC 4648). */
export function toBase32(bytes: Buffer): string {
  const bits = [...bytes].map((byte) => byte.toString(2).padStart(8, '0')).join('');
  return (bits.match(/.{1,5}/g) ?? []).map((five) => base32[Number.parseInt(five.padEnd(5, '0'), 2)]).join('');
}

/** What the QR code says, as all authenticator apps read it. */
export function totpUri(
  secret: Buffer,
  { issuer, email }: { readonly issuer: string; readonly email: string },
): string {
  const query = new URLSearchParams({ secret: toBase32(secret), issuer });
  return `otpauth://totp/${encodeURIComponent(issuer)}:${encodeURIComponent(email)}?${query.toString().replaceAll('+', '%20')}`;
}
