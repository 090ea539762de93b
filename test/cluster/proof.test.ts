import { expect, test } from 'vitest';
import { overlapsOf } from './probe.ts';

const write = (machine: string, timeline: number, begunAt: number) => ({
  machine,
  number: begunAt,
  timeline,
  begunAt,
  acknowledgedAt: begunAt + 1,
});

test('a primary that gives way acknowledges nothing after its successor', () => {
  expect(overlapsOf([write('m1', 1, 0), write('m2', 2, 10), write('m1', 3, 20)])).toEqual([]);
  const late = write('m1', 1, 20);
  expect(overlapsOf([write('m1', 1, 0), write('m2', 2, 10), late])).toEqual([late]);
});

test('two machines that were promoted to one timeline are two primaries', () => {
  const [earlier, other, later] = [write('m1', 2, 0), write('m2', 2, 3), write('m1', 2, 6)];
  expect(overlapsOf([earlier, other, later])).toEqual([other]);
});
