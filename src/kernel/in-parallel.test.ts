import { setImmediate } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { gate } from '../../test/support/gate.ts';
import { inParallel } from './in-parallel.ts';

describe('several at a time', () => {
  it('answers in order and never has more under way', async () => {
    let [underWay, most] = [0, 0];
    const results = await inParallel([5, 1, 4, 2, 3], 2, async (item) => {
      most = Math.max(most, ++underWay);
      for (let turn = 0; turn < item; turn++) await setImmediate();
      underWay--;
      return item * 10;
    });
    expect([results, most]).toEqual([[50, 10, 40, 20, 30], 2]);
    expect(await inParallel([], 3, async () => 1)).toEqual([]);
  });

  it('ends with the first failure', async () => {
    const seen: number[] = [];
    const failed = gate();
    const work = inParallel([1, 2, 3, 4, 5, 6], 2, async (item) => {
      seen.push(item);
      if (item === 2) throw new Error('two');
      await failed.opened;
    });
    await expect(work).rejects.toThrow('two');
    failed.open();
    await setImmediate();
    expect(seen).toEqual([1, 2]);
  });
});
