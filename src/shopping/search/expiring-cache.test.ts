import { expect, it } from 'vitest';
import { createExpiringCache } from './expiring-cache.ts';

it('remembers for a while, and no longer', () => {
  let now = 0;
  const memory = createExpiringCache<string>({ clock: { now: () => now }, keepMs: 10, room: 5 });
  memory.set('a', 'A');
  memory.set('b', 'B', 50);
  now = 9;
  expect(memory.get('a')).toBe('A');
  now = 10;
  expect([memory.get('a'), memory.get('b')]).toEqual([undefined, 'B']);
});

it('forgets whoever was not asked for longest when there is no more room', () => {
  const clock = { now: () => 0 };
  const memory = createExpiringCache<number>({ clock, keepMs: 10, room: 10, weigh: (value) => value });
  memory.set('a', 4);
  memory.set('b', 4);
  memory.get('a');
  memory.set('c', 4);
  expect(['a', 'b', 'c'].map((key) => memory.get(key))).toEqual([4, undefined, 4]);
  memory.set('d', 11);
  expect(memory.get('d')).toBeUndefined();
  memory.set('a', 6);
  expect(['a', 'c'].map((key) => memory.get(key))).toEqual([6, 4]);
  memory.forget('a');
  memory.forget('a');
  memory.set('e', 6);
  expect(['c', 'e'].map((key) => memory.get(key))).toEqual([4, 6]);
});
