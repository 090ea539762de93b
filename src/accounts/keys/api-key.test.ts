import { expect, test } from 'vitest';
import { looksLikeApiKey, newApiKey } from './api-key.ts';

test('keys have the prefix, differ, and carry their checksum', () => {
  const keys = Array.from({ length: 100 }, newApiKey);
  expect(new Set(keys).size).toBe(100);
  for (const key of keys) {
    expect(key).toMatch(/^pa_live_[0-9A-Za-z]{38}$/);
    expect(looksLikeApiKey(key)).toBe(true);
  }
});

test('one changed character is noticed, wherever it is', () => {
  const key = newApiKey();
  for (let at = 'pa_live_'.length; at < key.length; at++) {
    const other = key[at] === 'x' ? 'y' : 'x';
    expect(looksLikeApiKey(key.slice(0, at) + other + key.slice(at + 1))).toBe(false);
  }
});

test.each(['', 'pa_live_', 'pa_test_abc', `${'pa_live_'}${'0'.repeat(38)}`, ' pa_live_x'])('"%s" is no key', (text) => {
  expect(looksLikeApiKey(text)).toBe(false);
});
