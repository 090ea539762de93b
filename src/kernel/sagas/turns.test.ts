import { afterEach, expect, test, vi } from 'vitest';
import { createTurns } from './turns.ts';

afterEach(() => vi.useRealTimers());

test('when a turn ends the next one is woken, and the one behind it if nobody comes', async () => {
  vi.useFakeTimers();
  const woken: string[] = [];
  const turns = createTurns({ most: 1, wake: async (id) => void woken.push(id) });
  let end = () => {};
  const first = turns.take({ of: 'shop', id: 'a' }, () => new Promise<void>((resolve) => (end = resolve)));
  for (const id of ['b', 'c', 'd']) expect(await turns.take({ of: 'shop', id }, async () => 1)).toBeUndefined();
  end();
  await first;
  expect(woken).toEqual(['b']);
  // b was decided meanwhile, or another process has it.
  await vi.advanceTimersByTimeAsync(1_000);
  expect(woken).toEqual(['b', 'c']);
  // c comes, and d waits for it.
  const second = turns.take({ of: 'shop', id: 'c' }, () => new Promise<void>((resolve) => (end = resolve)));
  await vi.advanceTimersByTimeAsync(5_000);
  expect(woken).toEqual(['b', 'c']);
  end();
  await second;
  expect(woken).toEqual(['b', 'c', 'd']);
});
