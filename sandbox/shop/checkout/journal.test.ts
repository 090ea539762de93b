import { appendFileSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { openJournal } from './journal.ts';

interface Tables {
  readonly stock: number;
  readonly order: { readonly of: string };
}

const folder = mkdtempSync(join(tmpdir(), 'paywright-journal-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test('remembers what was committed, and changes of one commit together', async () => {
  const file = join(folder, 'below', 'a.jsonl');
  const first = await openJournal<Tables>(file);
  await first.commit([['stock', 'mug', 3]]);
  const selling = first.commit([
    ['stock', 'mug', 2],
    ['order', '1', { of: 'mug' }],
  ]);
  expect(first.get('stock', 'mug'), 'seen before it is on the disk').toBe(2);
  await selling;
  await first.commit([
    ['stock', 'tea', 1],
    ['stock', 'tea', null],
  ]);
  await first.close();

  const second = await openJournal<Tables>(file);
  expect([...second.all('stock')]).toEqual([['mug', 2]]);
  expect([...second.all('order')]).toEqual([['1', { of: 'mug' }]]);
  expect(second.count('order')).toBe(1);
  await second.close();
  expect(statSync(file).mode & 0o077, 'for its owner only').toBe(0);
});

test('forgets the half of a line that a power cut has left, and goes on behind the last whole one', async () => {
  const file = join(folder, 'b.jsonl');
  const first = await openJournal<Tables>(file);
  await first.commit([['stock', 'mug', 3]]);
  await first.close();
  appendFileSync(file, '[["stock","mug",2],["ord');

  const second = await openJournal<Tables>(file);
  expect(second.get('stock', 'mug')).toBe(3);
  await second.commit([['stock', 'mug', 1]]);
  await second.close();
  const third = await openJournal<Tables>(file);
  expect(third.get('stock', 'mug')).toBe(1);
  await third.close();
});

test('does not grow for ever', async () => {
  const file = join(folder, 'c.jsonl');
  const first = await openJournal<Tables>(file);
  await Promise.all(Array.from({ length: 2_000 }, (_, stock) => first.commit([['stock', 'mug', stock]])));
  await first.close();
  expect(readFileSync(file, 'utf8').trim().split('\n')).toHaveLength(2_000);

  const second = await openJournal<Tables>(file);
  expect(second.get('stock', 'mug')).toBe(1_999);
  await second.commit([['stock', 'tea', 5]]);
  await second.close();
  expect(readFileSync(file, 'utf8')).toBe('[["stock","mug",1999]]\n[["stock","tea",5]]\n');
});

test('takes no more when the disk has refused something', async () => {
  const journal = await openJournal<Tables>(join(folder, 'a.jsonl'.repeat(60)));
  await expect(journal.commit([['stock', 'mug', 1]])).rejects.toThrow('ENAMETOOLONG');
  await expect(journal.commit([['stock', 'mug', 2]])).rejects.toThrow('ENAMETOOLONG');
  await journal.close();
});

test('needs no file', async () => {
  const journal = await openJournal<Tables>(undefined);
  await journal.commit([['stock', 'mug', 1]]);
  expect(journal.get('stock', 'mug')).toBe(1);
  await journal.close();
});
