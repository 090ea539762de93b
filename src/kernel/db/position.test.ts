import { expect, it } from 'vitest';
import type { Database } from './database.ts';
import { createPositions } from './position.ts';

/** A primary that answers when it is told to, with the number of the question. */
function primary() {
  const open: (() => void)[] = [];
  let asked = 0;
  const db = {
    query: () => {
      asked += 1;
      const answer = { rows: [{ lsn: BigInt(asked), mark: 'one' }] };
      return new Promise((resolve, reject) => {
        open.push((error?: Error) => (error ? reject(error) : resolve(answer)));
      });
    },
  } as unknown as Database;
  return {
    positions: createPositions(db),
    asked: () => asked,
    answer: (error?: Error) => (open.shift() as (error?: Error) => void)(error),
  };
}

const settled = () => new Promise((resolve) => setImmediate(resolve));

it('callers share the next question, and none the one under way', async () => {
  const { positions, asked, answer } = primary();
  const first = positions.ask();
  await settled();
  const others = Array.from({ length: 100 }, () => positions.ask());
  await settled();
  expect(asked()).toBe(1);
  answer();
  expect(await first).toEqual({ lsn: 1n, mark: 'one' });
  await settled();
  expect(asked()).toBe(2);
  const last = positions.ask();
  answer();
  expect(new Set((await Promise.all(others)).map(({ lsn }) => lsn))).toEqual(new Set([2n]));
  await settled();
  answer();
  expect((await last).lsn).toBe(3n);
  expect(positions.newest?.lsn).toBe(3n);
});

it('a question that fails does not fail the next', async () => {
  const { positions, answer } = primary();
  const first = positions.ask();
  await settled();
  const second = positions.ask();
  answer(new Error('gone'));
  await expect(first).rejects.toThrow('gone');
  await settled();
  answer();
  expect((await second).lsn).toBe(2n);
});
