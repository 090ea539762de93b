import { describe, expect, it } from 'vitest';
import { inParallel } from './in-parallel.ts';

describe('several at a time', () => {
  it('answers in order and never has more under way', async () => {
    let [underWay, most] = [0, 0];
    const results = await inParallel([5, 1, 4, 2, 3], 2, async (item) => {
      most = Math.max(most, ++underWay);
      await new Promise((resolve) => setTimeout(resolve, item));
      underWay--;
      return item * 10;
    });
    expect([results, most]).toEqual([[50, 10, 40, 20, 30], 2]);
    expect(await inParallel([], 3, async () => 1)).toEqual([]);
  });

  it('ends with the first failure', async () => {
    const seen: number[] = [];
    const work = inParallel([1, 2, 3, 4, 5, 6], 2, async (item) => {
      seen.push(item);
      if (item === 2) throw new Error('two');
      await new Promise((resolve) => setTimeout(resolve, 5));
    });
    await expect(work).rejects.toThrow('two');
    await new Promise((resolve) => setTimeout(resolve, 20));
    expect(seen).toEqual([1, 2]);
  });
});
