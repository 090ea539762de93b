import { expect, test } from 'vitest';
import { createSecrets } from './secrets.ts';

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
