import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { RateLimitDecision } from './limiter.ts';
import { createMemoryLimiter } from './memory-limiter.ts';

function limiterAt(clock: { time: number }) {
  const limiter = createMemoryLimiter({ now: () => clock.time });
  return (limit: number, windowMs = 60_000) => limiter.take('bucket', { limit, windowMs }) as RateLimitDecision;
}

test('of a burst exactly the limit passes, and each place is free again when its own minute is over', () => {
  const clock = { time: 1_000 };
  const take = limiterAt(clock);
  expect(Array.from({ length: 5 }, () => take(3).allowed)).toEqual([true, true, true, false, false]);
  clock.time = 60_999;
  expect(take(3)).toMatchObject({ allowed: false, remaining: 0, resetMs: 1 });
  clock.time = 61_000;
  expect(Array.from({ length: 4 }, () => take(3).allowed)).toEqual([true, true, true, false]);
});

test('what is given back can be taken again', () => {
  const take = limiterAt({ time: 0 });
  const first = take(1);
  expect(take(1).allowed).toBe(false);
  void first.giveBack();
  expect(take(1).allowed).toBe(true);
});

test('looking takes no place', () => {
  const clock = { time: 0 };
  const limiter = createMemoryLimiter({ now: () => clock.time });
  const policy = { limit: 1, windowMs: 1_000 };
  expect(limiter.peek('bucket', policy)).toEqual({ allowed: true, remaining: 1, resetMs: 0 });
  expect(limiter.take('bucket', policy)).toMatchObject({ allowed: true });
  clock.time = 400;
  expect(limiter.peek('bucket', policy)).toEqual({ allowed: false, remaining: 0, resetMs: 600 });
  clock.time = 1_000;
  expect(limiter.peek('bucket', policy)).toMatchObject({ allowed: true, remaining: 1 });
});

test('in whatever window one looks, no more than the limit passed, and nobody was refused without cause', () => {
  const gaps = fc.array(fc.nat({ max: 400 }), { maxLength: 300 });
  fc.assert(
    fc.property(gaps, fc.integer({ min: 1, max: 40 }), (steps, limit) => {
      const windowMs = 1_000;
      const clock = { time: 0 };
      const take = limiterAt(clock);
      const passes: number[] = [];
      for (const step of steps) {
        clock.time += step;
        const within = passes.filter((moment) => moment > clock.time - windowMs).length;
        const decision = take(limit, windowMs);
        expect(decision.allowed).toBe(within < limit);
        if (decision.allowed) passes.push(clock.time);
        expect(decision.remaining).toBe(limit - Math.min(limit, within + (decision.allowed ? 1 : 0)));
      }
    }),
  );
});
