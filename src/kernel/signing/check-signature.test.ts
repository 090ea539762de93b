import { expect, test } from 'vitest';
import { algorithmOf, isSignedBy } from './check-signature.ts';
import { signatureBase } from './signature-base.ts';

/** The keys of RFC 9421, B.1.3 and B.1.4. */
const ecc = {
  kid: 'test-key-ecc-p256',
  kty: 'EC',
  crv: 'P-256',
  x: 'qIVYZVLCrPZHGHjP17CTW0_-D9Lfw0EkjqF7xB4FivA',
  y: 'Mc4nN9LTDOBhfoUeg8Ye9WedFRhnZXZJA12Qp0zZ6F0',
};
const ed25519 = {
  kid: 'test-key-ed25519',
  kty: 'OKP',
  crv: 'Ed25519',
  x: 'JrQLj5P_89iXES9-vFgrIy29clF9CC_oPPsw3c5D0bs',
};

test('checks the ES256 signature of RFC 9421, B.2.4', async () => {
  const base = [
    '"@status": 200',
    '"content-type": application/json',
    '"content-digest": sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq4l5aGgfLQ==:',
    '"content-length": 23',
    '"@signature-params": ("@status" "content-type" "content-digest" "content-length");created=1618884473;keyid="test-key-ecc-p256"',
  ].join('\n');
  const signature = Buffer.from(
    'wNmSUAhwb5LxtOtOpNa6W5xj067m5hFrj0XQ4fvpaCLx0NKocgPquLgyahnzDnDAUy5eCdlYUEkLIj+32oiasw==',
    'base64',
  );
  expect(await isSignedBy(ecc, base, signature)).toBe(true);
  expect(await isSignedBy(ecc, base.replace('200', '201'), signature)).toBe(false);
  expect(await isSignedBy(ecc, base, signature.subarray(1))).toBe(false);
});

test('makes and checks the Ed25519 signature of RFC 9421, B.2.6', async () => {
  const parameters =
    '("date" "@method" "@path" "@authority" "content-type" "content-length");created=1618884473;keyid="test-key-ed25519"';
  const base = signatureBase(
    {
      method: 'POST',
      authority: 'example.com',
      target: '/foo?param=Value&Pet=dog',
      headers: {
        Host: 'example.com',
        Date: 'Tue, 20 Apr 2021 02:07:55 GMT',
        'Content-Type': 'application/json',
        'Content-Length': '18',
      },
    },
    ['date', '@method', '@path', '@authority', 'content-type', 'content-length'],
    parameters,
  );
  expect(base).toBe(
    [
      '"date": Tue, 20 Apr 2021 02:07:55 GMT',
      '"@method": POST',
      '"@path": /foo',
      '"@authority": example.com',
      '"content-type": application/json',
      '"content-length": 18',
      `"@signature-params": ${parameters}`,
    ].join('\n'),
  );
  const signature = 'wqcAqbmYJ2ji2glfAMaRy4gruYYnx2nEFN2HN6jrnDnQCK1u02Gb04v9EDgwUPiu4A0w6vuQv5lIp5WPpBKRCw==';
  expect(await isSignedBy(ed25519, base ?? '', Buffer.from(signature, 'base64'))).toBe(true);
});

test('goes by the key, and knows three kinds of them', async () => {
  expect(algorithmOf(ecc)?.name).toBe('ecdsa-p256-sha256');
  expect(algorithmOf({ ...ecc, alg: 'ES384' })).toBeUndefined();
  expect(algorithmOf({ kty: 'RSA', n: 'x', e: 'AQAB' })).toBeUndefined();
  expect(algorithmOf({ kty: 'oct', k: 'c2VjcmV0' })).toBeUndefined();
  expect(await isSignedBy({ ...ecc, x: 'AAAA' }, 'text', Buffer.alloc(64)), 'a point that is on no curve').toBe(false);
  expect(await isSignedBy({ ...ecc, y: 7 }, 'text', Buffer.alloc(64))).toBe(false);
});
