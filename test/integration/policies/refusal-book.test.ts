import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest';
import { type Database, openDatabase } from '../../../src/kernel/db/database.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import type { Refusal } from '../../../src/policies/decisions/judged.ts';
import { createRefusalBook } from '../../../src/policies/decisions/refusal-book.ts';
import { useDatabase } from '../../support/database.ts';
import { until } from '../../support/until.ts';

const database = useDatabase();
let db: Database;

beforeAll(() => {
  const limits = { statementMs: 20_000, lockMs: 100, idleInTransactionMs: 5_000 };
  db = openDatabase({ url: database.url, poolSize: 4, logger: createLogger('silent'), limits });
});
afterAll(() => db.close());

/** Refused by one of the rules of a key. */
function refusalBy(index: number, keyId: string): Refusal {
  return {
    accountId: 1n,
    keyId,
    tier: 'enterprise',
    outcome: 'deny',
    payee: undefined,
    reason: JSON.stringify([keyId, index]),
    form: ({ count }) => `${index} ${count}`,
  };
}

/** The books in this file share a table, so each has a key of its own. */
async function recorded(key: string): Promise<{ rule: number; count: number }[]> {
  const { rows } = await database.db.query<{ form: string }>('SELECT form FROM decisions_waiting WHERE key_id = $1', [
    key,
  ]);
  const forms = rows.map(({ form }) => form.split(' ').map(Number));
  return forms.map(([rule = -1, count = 0]) => ({ rule, count })).toSorted((one, other) => one.rule - other.rule);
}

function openBook(windowMs: number) {
  const book = createRefusalBook({ db, logger: createLogger('silent'), windowMs });
  onTestFinished(() => book.stop());
  return book;
}

test('what could not be written is written with the next window', async () => {
  const key = 'key_tried_again';
  const book = openBook(300);
  const blocker = await database.db.pool.connect();
  await blocker.query('BEGIN');
  await blocker.query('LOCK TABLE decisions_waiting');
  for (const index of [0, 0, 1]) book.note(refusalBy(index, key));
  const isRefused =
    "SELECT FROM pg_stat_activity WHERE query LIKE 'INSERT INTO decisions_waiting%' AND wait_event_type = 'Lock'";
  await until('it to be tried', async () => (await database.db.query(isRefused)).rowCount === 1);
  await until('it to be given up', async () => (await database.db.query(isRefused)).rowCount === 0);
  book.note(refusalBy(1, key));
  await blocker.query('ROLLBACK');
  blocker.release();
  const sum = async () => (await recorded(key)).reduce((all, { count }) => all + count, 0);
  await until('all to be written', async () => (await sum()) === 4);
  await book.stop();
  expect(await sum()).toBe(4);
});

test('a full book is written before its time', { timeout: 60_000 }, async () => {
  const key = 'key_full';
  const book = openBook(3_600_000);
  for (let index = 0; index < 10_001; index++) book.note(refusalBy(index, key));
  await until('the first ones', async () => (await recorded(key)).length === 10_000);
  book.note(refusalBy(10_001, key));
  await book.stop();
  expect((await recorded(key)).map(({ rule }) => rule)).toEqual(Array.from({ length: 10_002 }, (_, index) => index));
});

test('what does not fit while a full book is written is left out, and nothing else', { timeout: 60_000 }, async () => {
  const key = 'key_flood';
  const book = openBook(3_600_000);
  for (let index = 0; index < 25_000; index++) book.note(refusalBy(index, key));
  for (let again = 0; again < 3; again++) book.note(refusalBy(10_000, key));
  await book.stop();
  const written = await recorded(key);
  expect(written).toHaveLength(20_000);
  expect(written.at(-1)?.rule).toBe(19_999);
  expect(written[10_000]).toEqual({ rule: 10_000, count: 4 });
});
