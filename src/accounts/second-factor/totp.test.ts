import { describe, expect, it } from 'vitest';
import { matchingStep, stepAt, toBase32, totpCode, totpUri } from './totp.ts';

const secret = Buffer.from('12345678901234567890');

describe('a code', () => {
  // RFC 6238, appendix B, for SHA-1: the last six of its eight digits.
  it.each([
    [59, '94287082'],
    [1_111_111_109, '07081804'],
    [1_111_111_111, '14050471'],
    [1_234_567_890, '89005924'],
    [2_000_000_000, '69279037'],
    [20_000_000_000, '65353130'],
  ])('after %i seconds is the one of the RFC', (seconds, eightDigits) => {
    expect(totpCode(secret, stepAt(seconds * 1_000))).toBe(eightDigits.slice(2));
  });

  it('is accepted one step early and one step late, and no more', () => {
    const ms = 1_111_111_111_000;
    const now = stepAt(ms);
    const accepted = [-2n, -1n, 0n, 1n, 2n].map((off) =>
      matchingStep({ secret, code: totpCode(secret, now + off), ms, lastStep: 0n }),
    );
    expect(accepted).toEqual([undefined, now - 1n, now, now + 1n, undefined]);
  });

  it('is not accepted again, nor is an earlier one', () => {
    const ms = 1_111_111_111_000;
    const now = stepAt(ms);
    const isAccepted = (step: bigint, lastStep: bigint) =>
      matchingStep({ secret, code: totpCode(secret, step), ms, lastStep }) !== undefined;
    expect([isAccepted(now, now), isAccepted(now - 1n, now), isAccepted(now + 1n, now)]).toEqual([false, false, true]);
  });

  it.each(['', '0', '050471 ', '0504710', '05047', '٠٥٠٤٧١', 'abcdef'])('that reads "%s" is wrong', (code) => {
    expect(matchingStep({ secret, code, ms: 1_111_111_111_000, lastStep: 0n })).toBeUndefined();
  });
});

describe('the secret', () => {
  // RFC 4648, section 10, without padding.
  it.each([
    ['', ''],
    ['f', 'MY'],
    ['fo', 'MZXQ'],
    ['foo', 'MZXW6'],
    ['foob', 'MZXW6YQ'],
    ['fooba', 'MZXW6YTB'],
    ['foobar', 'MZXW6YTBOI'],
  ])('"%s" is "%s" in base 32', (text, encoded) => {
    expect(toBase32(Buffer.from(text))).toBe(encoded);
  });

  it('is in the address that apps read, with the account', () => {
    expect(totpUri(secret, { issuer: 'Pay wright', email: 'ada+1@example.com' })).toBe(
      'otpauth://totp/Pay%20wright:ada%2B1%40example.com?secret=GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ&issuer=Pay%20wright',
    );
  });
});
