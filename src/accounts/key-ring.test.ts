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

const anybody = () => {};

test('a key is asked for once, until its account changes', async () => {
  const { db, answer } = slowDatabase();
  const ring = createKeyRing(db, secrets, () => true);
  const key = newApiKey();
  const first = ring.find(key, anybody);
  answer([row]);
  expect(await first).toMatchObject({ accountId: 7n });
  expect(ring.find(key, anybody)).toMatchObject({ accountId: 7n });
  ring.forget(7n);
  expect(ring.find(key, anybody)).toBeInstanceOf(Promise);
});

test('what cannot be a key is not asked for', () => {
  const { db, asked } = slowDatabase();
  const ring = createKeyRing(db, secrets, () => true);
  expect(ring.find('pa_live_nonsense', anybody)).toBeUndefined();
  expect(asked()).toBe(0);
});

test('an answer that a change has overtaken is not remembered', async () => {
  const { db, answer } = slowDatabase();
  const ring = createKeyRing(db, secrets, () => true);
  const key = newApiKey();
  const found = ring.find(key, anybody);
  ring.forget(7n);
  answer([row]);
  await found;
  expect(ring.find(key, anybody)).toBeInstanceOf(Promise);
});

test('what was read while changes could not be heard is not remembered, even if they can be by now', async () => {
  const { db, answer } = slowDatabase();
  let connected = false;
  const ring = createKeyRing(db, secrets, () => connected);
  const key = newApiKey();
  const found = ring.find(key, anybody);
  connected = true;
  answer([row]);
  await found;
  expect(ring.find(key, anybody)).toBeInstanceOf(Promise);
});

test('nobody is asked about a key of somebody who may not ask, unless it is known', async () => {
  const { db, answer, asked } = slowDatabase();
  const ring = createKeyRing(db, secrets, () => true);
  const key = newApiKey();
  const nobody = () => {
    throw new Error('over its limit');
  };
  expect(() => ring.find(key, nobody)).toThrow('over its limit');
  expect(asked()).toBe(0);
  expect(ring.find('pa_live_nonsense', nobody)).toBeUndefined();
  const found = ring.find(key, anybody);
  answer([row]);
  await found;
  expect(ring.find(key, nobody)).toMatchObject({ accountId: 7n });
});
