import { expect, test } from 'vitest';
import type { Database } from '../db/database.ts';
import { createSecrets } from '../secrets.ts';
import { newApiKey } from './api-key.ts';
import { createKeyRing } from './key-ring.ts';

const secrets = createSecrets('s'.repeat(32));
const row = { account_id: 7n, key_id: 'key_1', handle: 'PA-AAAAAAAA', tier: 'free' };

/** A database whose answers come when the test says so. */
function slowDatabase() {
  const waiting: ((rows: object[]) => void)[] = [];
  const db = {
    query: () => new Promise((resolve) => waiting.push((rows) => resolve({ rows }))),
  } as unknown as Database;
  return { db, answer: (rows: object[]) => waiting.shift()?.(rows), asked: () => waiting.length };
}

test('a key is asked for once, until its account changes', async () => {
  const { db, answer } = slowDatabase();
  const ring = createKeyRing(db, secrets, () => true);
  const key = newApiKey();
  const first = ring.find(key);
  answer([row]);
  expect(await first).toMatchObject({ accountId: 7n });
  expect(ring.find(key)).toMatchObject({ accountId: 7n });
  ring.forget(7n);
  expect(ring.find(key)).toBeInstanceOf(Promise);
});

test('what cannot be a key is not asked for', () => {
  const { db, asked } = slowDatabase();
  const ring = createKeyRing(db, secrets, () => true);
  expect(ring.find('pa_live_nonsense')).toBeUndefined();
  expect(asked()).toBe(0);
});

test('an answer that a change has overtaken is not remembered', async () => {
  const { db, answer } = slowDatabase();
  const ring = createKeyRing(db, secrets, () => true);
  const key = newApiKey();
  const found = ring.find(key);
  ring.forget(7n);
  answer([row]);
  await found;
  expect(ring.find(key)).toBeInstanceOf(Promise);
});

test('what was read while changes could not be heard is not remembered, even if they can be by now', async () => {
  const { db, answer } = slowDatabase();
  let connected = false;
  const ring = createKeyRing(db, secrets, () => connected);
  const key = newApiKey();
  const found = ring.find(key);
  connected = true;
  answer([row]);
  await found;
  expect(ring.find(key)).toBeInstanceOf(Promise);
});
