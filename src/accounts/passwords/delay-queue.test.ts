import { expect, test } from 'vitest';
import { createDelayQueue } from './delay-queue.ts';

test('a flood waits in bounded numbers, and who comes from elsewhere passes a full room without waiting', async () => {
  const wakes: (() => void)[] = [];
  const room = createDelayQueue({ perLine: 2, perNetwork: 3, inAll: 5 }, () => new Promise((wake) => wakes.push(wake)));
  const come = (network: string, line: string) => room.wait({ network, line, delayMs: 1 }, async () => line);
  const waiting = [come('a', 'a1'), come('a', 'a1'), come('a', 'a2'), come('b', 'b1'), come('b', 'b2')];
  expect(room.size).toBe(5);
  // Its line is full, its network is, and the whole room is.
  expect([come('a', 'a1'), come('a', 'a3'), come('b', 'b3')]).toEqual([undefined, undefined, undefined]);
  expect(await come('c', 'c1')).toBe('c1');
  expect(room.size).toBe(5);
  for (let round = 0; round < 3; round++) {
    for (const wake of wakes.splice(0)) wake();
    await new Promise((resolve) => setImmediate(resolve));
  }
  expect(await Promise.all(waiting.map(async (one) => one))).toEqual(['a1', 'a1', 'a2', 'b1', 'b2']);
  expect(room.size).toBe(0);
});

test('work that fails lets the next one in its line go on', async () => {
  const room = createDelayQueue({ perLine: 2, perNetwork: 3, inAll: 5 }, async () => {});
  const wait = { network: 'a', line: 'a', delayMs: 1 };
  const failed = room.wait(wait, () => Promise.reject(new Error('no')));
  const next = room.wait(wait, async () => 'next');
  await expect(failed).rejects.toThrow('no');
  expect(await next).toBe('next');
});
