import { expect, test } from 'vitest';
import { createSecrets } from '../../secrets.ts';
import { newApiKey } from './api-key.ts';
import { hashesOfKey, hashKey } from './key-hash.ts';

const secrets = createSecrets('s'.repeat(32));

test('both kinds of key are found, and a narrowed one not by a release that knows no scopes', () => {
  const key = newApiKey();
  const asBefore = secrets.hashes('api-keys', key);
  expect(asBefore).toContainEqual(hashKey(secrets, key, 'whole'));
  expect(asBefore).not.toContainEqual(hashKey(secrets, key, 'narrowed'));
  for (const breadth of ['whole', 'narrowed'] as const) {
    expect(hashesOfKey(secrets, key)).toContainEqual(hashKey(secrets, key, breadth));
  }
});

test('a key that another secret has hashed is found as well', () => {
  const key = newApiKey();
  const later = createSecrets('t'.repeat(32), { others: ['s'.repeat(32)] });
  for (const breadth of ['whole', 'narrowed'] as const) {
    expect(hashesOfKey(later, key)).toContainEqual(hashKey(secrets, key, breadth));
  }
});
