import { describe, expect, test } from 'vitest';
import type { Database } from '../../kernel/db/database.ts';
import { createSecrets } from '../../kernel/secrets/secrets.ts';
import { newApiKey } from './api-key.ts';
import { apiKeys, createKeyCache, type KeyUse } from './key-cache.ts';

const secrets = createSecrets('s'.repeat(32));
const dayMs = 24 * 60 * 60_000;
const start = Date.parse('2026-01-15T10:00:00Z');
const row = {
  accountId: 7n,
  keyId: 'key_1',
  handle: 'PA-AAAAAAAA',
  tier: 'free',
  scopes: ['read'],
  stamp: 3n,
  expiresAt: null,
  lastUsedAt: null,
  createdAt: new Date(start),
};

/** A database whose answers come when the test says so. */
function slowDatabase() {
  const waiting: ((rows: object[]) => void)[] = [];
  const db = {
    query: () => new Promise((resolve) => waiting.push((rows) => resolve({ rows }))),
  } as unknown as Database;
  return { db, answer: (rows: object[]) => waiting.shift()?.(rows), asked: () => waiting.length };
}

const anybody = { mayAsk: () => {}, address: () => '203.0.113.7' };

/** A key ring whose time the test moves, and what it noted of uses. */
function ringOn(db: Database, mayRemember = () => true) {
  const clock = { at: start, now: () => clock.at };
  const noted: KeyUse[] = [];
  const uses = { note: (_keyId: string, use: KeyUse) => void noted.push(use) };
  const ring = createKeyCache({ credential: apiKeys, db, secrets, mayRemember, clock, idleMs: 90 * dayMs, uses });
  return { ring, clock, noted };
}

test('a key is asked for once, until its account changes', async () => {
  const { db, answer } = slowDatabase();
  const { ring } = ringOn(db);
  const key = newApiKey();
  const first = ring.find(key, anybody);
  answer([row]);
  expect(await first).toMatchObject({ accountId: 7n, stamp: 3n });
  expect(ring.find(key, anybody)).toMatchObject({ accountId: 7n, stamp: 3n });
  ring.forget(7n);
  expect(ring.find(key, anybody)).toBeInstanceOf(Promise);
});

test('what cannot be a key is not asked for', () => {
  const { db, asked } = slowDatabase();
  const { ring } = ringOn(db);
  expect(ring.find('pa_live_nonsense', anybody)).toBeUndefined();
  expect(asked()).toBe(0);
});

test('an answer that a change has overtaken is not remembered', async () => {
  const { db, answer } = slowDatabase();
  const { ring } = ringOn(db);
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
  const { ring } = ringOn(db, () => connected);
  const key = newApiKey();
  const found = ring.find(key, anybody);
  connected = true;
  answer([row]);
  await found;
  expect(ring.find(key, anybody)).toBeInstanceOf(Promise);
});

test('nobody is asked about a key of somebody who may not ask, unless it is known', async () => {
  const { db, answer, asked } = slowDatabase();
  const { ring } = ringOn(db);
  const key = newApiKey();
  const nobody = {
    ...anybody,
    mayAsk() {
      throw new Error('over its limit');
    },
  };
  expect(() => ring.find(key, nobody)).toThrow('over its limit');
  expect(asked()).toBe(0);
  expect(ring.find('pa_live_nonsense', nobody)).toBeUndefined();
  const found = ring.find(key, anybody);
  answer([row]);
  await found;
  expect(ring.find(key, nobody)).toMatchObject({ accountId: 7n });
});

describe('a key that ends by itself', () => {
  /** Finds a key that the database knows like this, at once or after it was asked. */
  async function look(found: Partial<typeof row> | { expiresAt: Date } | { lastUsedAt: Date }, at = start) {
    const { db, answer } = slowDatabase();
    const { ring, clock } = ringOn(db);
    clock.at = at;
    const asked = ring.find(newApiKey(), anybody);
    answer([{ ...row, ...found }]);
    return asked;
  }

  test('is nobody’s from its day on', async () => {
    const expiresAt = new Date(start + 1_000);
    expect(await look({ expiresAt }, start + 999)).toMatchObject({ accountId: 7n });
    expect(await look({ expiresAt }, start + 1_000)).toBeUndefined();
  });

  test('is nobody’s when nobody has used it for too long, and every use counts anew', async () => {
    expect(await look({}, start + 90 * dayMs - 1)).toMatchObject({ accountId: 7n });
    expect(await look({}, start + 90 * dayMs)).toBeUndefined();
    expect(await look({ lastUsedAt: new Date(start + dayMs) }, start + 90 * dayMs)).toMatchObject({ accountId: 7n });
    expect(await look({ lastUsedAt: new Date(start + dayMs) }, start + 91 * dayMs)).toBeUndefined();
  });

  test('is not answered from memory after its day', async () => {
    const { db, answer, asked } = slowDatabase();
    const { ring, clock } = ringOn(db);
    const key = newApiKey();
    const first = ring.find(key, anybody);
    answer([{ ...row, expiresAt: new Date(start + 1_000) }]);
    await first;
    clock.at = start + 999;
    expect(ring.find(key, anybody)).toMatchObject({ accountId: 7n });
    clock.at = start + 1_000;
    const again = ring.find(key, anybody);
    expect(asked()).toBe(1);
    answer([{ ...row, expiresAt: new Date(start + 1_000) }]);
    expect(await again).toBeUndefined();
  });
});

test('a key is remembered for an hour without use, and for as long as it is used', async () => {
  const { db, answer } = slowDatabase();
  const { ring, clock } = ringOn(db);
  const key = newApiKey();
  const first = ring.find(key, anybody);
  answer([row]);
  await first;
  for (let hours = 0; hours < 5; hours++) {
    clock.at += 60 * 60_000 - 1;
    expect(ring.find(key, anybody)).toMatchObject({ accountId: 7n });
  }
  clock.at += 60 * 60_000;
  expect(ring.find(key, anybody)).toBeInstanceOf(Promise);
});

test('uses are noted when a key is looked up and then once a minute, with where they came from', async () => {
  const { db, answer } = slowDatabase();
  const { ring, clock, noted } = ringOn(db);
  const key = newApiKey();
  const first = ring.find(key, anybody);
  answer([row]);
  await first;
  for (const at of [0, 1_000, 59_999, 60_000, 60_001, 119_999, 120_000]) {
    clock.at = start + at;
    await ring.find(key, { ...anybody, address: () => `203.0.113.${at / 60_000}` });
  }
  expect(noted).toEqual([
    { at: start, address: '203.0.113.7' },
    { at: start + 60_000, address: '203.0.113.1' },
    { at: start + 120_000, address: '203.0.113.2' },
  ]);
});
