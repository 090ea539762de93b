import { describe, expect, test } from 'vitest';
import { createSecrets, hashKeysOf, hashPurposes, sealPurposes } from './secrets.ts';

const secrets = createSecrets('a secret of at least thirty-two characters');

test('what is sealed is opened again, and looks different every time', () => {
  const sealed = secrets.seal('messages', '493021');
  expect(secrets.open('messages', sealed)).toBe('493021');
  expect(sealed.toString('latin1')).not.toContain('493021');
  expect(secrets.seal('messages', '493021').equals(sealed)).toBe(false);
});

test('another purpose, another secret or a changed byte does not open it', () => {
  const sealed = secrets.seal('messages', '493021');
  expect(() => secrets.open('wallet-seed', sealed)).toThrow();
  expect(() => createSecrets('b'.repeat(32)).open('messages', sealed)).toThrow();
  for (let at = 0; at < sealed.length; at++) {
    const changed = Buffer.from(sealed);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(() => secrets.open('messages', changed)).toThrow();
  }
});

test('a hash is the same for the same text and purpose only', () => {
  expect(secrets.hash('api-keys', 'x')).toEqual(secrets.hash('api-keys', 'x'));
  expect(secrets.hash('api-keys', 'x')).not.toEqual(secrets.hash('verification-codes', 'x'));
  expect(secrets.hash('api-keys', 'x')).not.toEqual(createSecrets('b'.repeat(32)).hash('api-keys', 'x'));
});

test('what is hashed of a request needs the secret too, and is half as long', () => {
  const hashed = secrets.digest('content');
  expect(hashed).toMatch(/^[0-9a-f]{32}$/);
  expect(hashed).toBe(secrets.digest('content'));
  expect(hashed).not.toBe(secrets.digest('content.'));
  expect(hashed).not.toBe(createSecrets('b'.repeat(32)).digest('content'));
});

describe('one secret that takes the place of another', () => {
  const older = createSecrets('a'.repeat(32));
  const newer = createSecrets('b'.repeat(32));

  test('opens what the other has sealed, and seals with itself alone', () => {
    const both = createSecrets('b'.repeat(32), { others: ['a'.repeat(32)] });
    expect(both.open('messages', older.seal('messages', '493021'))).toBe('493021');
    expect(newer.open('messages', both.seal('messages', '493021'))).toBe('493021');
    expect(() => older.open('messages', both.seal('messages', '493021'))).toThrow();
    expect(() => both.open('messages', createSecrets('c'.repeat(32)).seal('messages', 'x'))).toThrow();
  });

  test('recognises what the other has hashed, by the other secret or by its hash keys', () => {
    const known = [newer.hash('api-keys', 'x'), older.hash('api-keys', 'x')];
    expect(createSecrets('b'.repeat(32), { others: ['a'.repeat(32)] }).hashes('api-keys', 'x')).toEqual(known);
    const after = createSecrets('b'.repeat(32), { former: [hashKeysOf('a'.repeat(32))] });
    expect(after.hashes('api-keys', 'x')).toEqual(known);
    expect(after.hash('api-keys', 'x')).toEqual(known[0]);
    expect(() => after.open('messages', older.seal('messages', 'x'))).toThrow();
  });

  test('knows what requests were hashed to before, and nothing where no secret was replaced', () => {
    expect(newer.formerDigests).toBeUndefined();
    for (const earlier of [{ others: ['a'.repeat(32)] }, { former: [hashKeysOf('a'.repeat(32))] }]) {
      const after = createSecrets('b'.repeat(32), earlier);
      expect([after.digest('x'), after.formerDigests?.('x')]).toEqual([newer.digest('x'), [older.digest('x')]]);
    }
  });

  test('recognises nothing of a purpose that came after the other was gone, and does not fail over it', () => {
    const { 'password-resets': _later, ...former } = hashKeysOf('a'.repeat(32));
    const after = createSecrets('b'.repeat(32), { former: [former] });
    expect(after.hashes('password-resets', 'x')).toEqual([newer.hash('password-resets', 'x')]);
    expect(after.hashes('api-keys', 'x')).toEqual([newer.hash('api-keys', 'x'), older.hash('api-keys', 'x')]);
  });

  test('keeps no key that opens anything', () => {
    const kept = Object.keys(hashKeysOf('a'.repeat(32)));
    expect(kept).toEqual([...hashPurposes]);
    for (const purpose of sealPurposes) expect(kept).not.toContain(purpose);
  });
});
