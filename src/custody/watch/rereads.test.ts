import { beforeEach, expect, test } from 'vitest';
import { createRereads, type Rereads } from './rereads.ts';

const minuteMs = 60_000;
let now: number;
let looks: Rereads;

beforeEach(() => {
  now = 0;
  looks = createRereads({ now: () => now });
  looks.begin({ after: 100n, to: 100n });
});

/** Everything that is due now, and done. */
function lookNow(mostBlocks = 2_000n): [bigint, bigint][] {
  const ranges: [bigint, bigint][] = [];
  for (let range = looks.next(mostBlocks); range !== undefined; range = looks.next(mostBlocks)) {
    ranges.push([range.from, range.to]);
    looks.done(range);
  }
  return ranges;
}

test('a block is read again after one, five and fifteen minutes', () => {
  looks.noteRead(110n);
  const seen: Record<number, [bigint, bigint][]> = {};
  for (; now <= 60 * minuteMs; now += 4_000) {
    const ranges = lookNow();
    if (ranges.length > 0) seen[now / minuteMs] = ranges;
  }
  expect(seen).toEqual({ 1: [[101n, 110n]], 5: [[101n, 110n]], 15: [[101n, 110n]] });
});

test('every block of a busy hour is read again three times, in few ranges', () => {
  const times = new Map<bigint, number>();
  let ranges = 0;
  let head = 100n;
  for (; now < 60 * minuteMs; now += 4_000) {
    head += 2n;
    looks.noteRead(head);
    for (const [from, to] of lookNow()) {
      ranges += 1;
      for (let block = from; block <= to; block++) times.set(block, (times.get(block) ?? 0) + 1);
    }
  }
  expect(ranges).toBeLessThanOrEqual(60 + 12 + 4);
  const settled = [...times].filter(([block]) => block <= looks.settledTo);
  expect(settled.length).toBeGreaterThan(600);
  expect(new Set(settled.map(([, count]) => count))).toEqual(new Set([3]));
});

test('a wide range is read in parts', () => {
  looks.begin({ after: 100n, to: 5_000n });
  expect(lookNow()).toEqual([
    [101n, 2_100n],
    [2_101n, 4_100n],
    [4_101n, 5_000n],
  ]);
});

test('a range that was not read stays due', () => {
  looks.noteRead(110n);
  now = minuteMs;
  expect(looks.next(2_000n)).toEqual({ from: 101n, to: 110n });
  expect(looks.next(5n)).toEqual({ from: 101n, to: 105n });
});

test('after a reorganisation the new blocks are read again as well', () => {
  looks.noteRead(110n);
  now = minuteMs;
  expect(lookNow()).toEqual([[101n, 110n]]);
  looks.forgetAfter(104n);
  looks.noteRead(112n);
  now = 2 * minuteMs;
  expect(lookNow()).toEqual([[105n, 112n]]);
});
