import { setImmediate } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { createGatherer } from './gather.ts';

it('runs concurrent items as one batch and gives each its own result', async () => {
  const lots: number[][] = [];
  const double = createGatherer<number, number>({
    atOnce: 3,
    mostInFlight: 1,
    async run(items) {
      lots.push([...items]);
      await setImmediate();
      return items.map((item) => 2 * item);
    },
  });
  expect(await Promise.all([1, 2, 3, 4, 5].map(double))).toEqual([2, 4, 6, 8, 10]);
  expect(lots).toEqual([
    [1, 2, 3],
    [4, 5],
  ]);
});

it('fails all items of a failed batch, and continues with the next', async () => {
  let times = 0;
  const ask = createGatherer<string, string>({
    atOnce: 10,
    mostInFlight: 1,
    async run(items) {
      times++;
      if (times === 1) throw new Error('no answer');
      return items;
    },
  });
  const first = await Promise.allSettled([ask('a'), ask('b')]);
  expect(first.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  expect(await ask('c')).toBe('c');
});

it('retries items one by one if a single item may have failed the batch', async () => {
  const ask = createGatherer<number, number>({
    atOnce: 10,
    mostInFlight: 1,
    isOfOne: (error) => error instanceof RangeError,
    async run(items) {
      if (items.includes(0)) throw new RangeError('nothing');
      return items;
    },
  });
  const all = await Promise.allSettled([1, 0, 2].map(ask));
  expect(all.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled']);
});

it('refuses an item when too many wait, and takes it once there is room', async () => {
  const ask = createGatherer<number, number>({
    atOnce: 10,
    mostInFlight: 1,
    mostWaiting: 2,
    run: async (items) => items,
  });
  const all = await Promise.allSettled([1, 2, 3].map(ask));
  const refused = { status: 503, extras: { headers: { 'Retry-After': '1' } } };
  expect(all).toMatchObject([{ value: 1 }, { value: 2 }, { reason: refused }]);
  expect(await ask(4)).toBe(4);
});
