import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createTurns } from './turns.ts';

test('one works at a time, in the order in which they asked, also after one has failed', async () => {
  const turns = createTurns();
  const seen: string[] = [];
  const work = (name: string, outcome: () => string) =>
    turns.take(async () => {
      seen.push(`${name} begins`);
      await setImmediate();
      seen.push(`${name} ends`);
      return outcome();
    });
  const results = await Promise.allSettled([
    work('one', () => 'done'),
    work('two', () => {
      throw new Error('no');
    }),
    work('three', () => 'done'),
  ]);
  expect(results.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
  expect(seen).toEqual(['one begins', 'one ends', 'two begins', 'two ends', 'three begins', 'three ends']);
});
