import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import { createLogger } from '../log/logger.ts';
import { type LoopOptions, startLoop } from './loop.ts';
import type { Wakes } from './wakes.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

const fallbackMs = 30_000;

function restingLoop(run: () => Promise<number | 'rest'> = async () => 'rest') {
  const listeners = new Set<() => void>();
  const returns = new Set<() => void>();
  const wakes: Wakes = {
    on(topic, listener) {
      expect(topic).toBe('work');
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    onReturn(listener) {
      returns.add(listener);
      return () => returns.delete(listener);
    },
    restMs: () => fallbackMs,
  };
  const ran = vi.fn(run);
  const options: LoopOptions = {
    logger: createLogger('silent'),
    fields: {},
    trouble: 'nothing works',
    rest: { wakes, topic: 'work' },
    paceMs: 100,
    run: ran,
  };
  const loop = startLoop(options);
  const call = (all: ReadonlySet<() => void>) => [...all].map((listener) => listener());
  return { loop, ran, listeners, returns, notify: () => call(listeners), comeBack: () => call(returns) };
}

it('rests until a notification, and runs at once', async () => {
  const { loop, ran, notify } = restingLoop();
  await vi.advanceTimersByTimeAsync(fallbackMs - 1);
  expect(ran).toHaveBeenCalledTimes(1);
  notify();
  await vi.advanceTimersByTimeAsync(0);
  expect(ran).toHaveBeenCalledTimes(2);
  await loop.stop();
});

it('goes round again for what it was told in the middle of a round', async () => {
  const pauses: (number | 'rest')[] = [0, 'rest', 'rest'];
  const { loop, ran, notify } = restingLoop(async () => {
    await Promise.resolve();
    if (pauses.length === 3) notify();
    return pauses.shift() ?? 'rest';
  });
  await vi.advanceTimersByTimeAsync(1_000);
  expect(ran).toHaveBeenCalledTimes(3);
  await loop.stop();
});

it('finds what a lost notification missed', async () => {
  const { loop, ran } = restingLoop();
  await vi.advanceTimersByTimeAsync(fallbackMs);
  expect(ran).toHaveBeenCalledTimes(2);
  await loop.stop();
});

it('answers many notifications with one run per pace', async () => {
  const { loop, ran, notify } = restingLoop();
  await vi.advanceTimersByTimeAsync(50);
  for (let times = 0; times < 10; times++) notify();
  await vi.advanceTimersByTimeAsync(49);
  expect(ran).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(1);
  expect(ran).toHaveBeenCalledTimes(2);
  await vi.advanceTimersByTimeAsync(1_000);
  expect(ran).toHaveBeenCalledTimes(2);
  await loop.stop();
});

it('runs again for a notification that came during a run', async () => {
  let finish = () => {};
  const { loop, ran, notify } = restingLoop(
    () =>
      new Promise((resolve) => {
        finish = () => resolve('rest');
      }),
  );
  notify();
  finish();
  await vi.advanceTimersByTimeAsync(100);
  expect(ran).toHaveBeenCalledTimes(2);
  finish();
  await loop.stop();
});

it('keeps its backoff after a failure, and listens no longer once it has stopped', async () => {
  const { loop, ran, notify, listeners } = restingLoop(async () => {
    throw new Error('down');
  });
  await vi.advanceTimersByTimeAsync(0);
  notify();
  await vi.advanceTimersByTimeAsync(100);
  expect(ran).toHaveBeenCalledTimes(1);
  await vi.advanceTimersByTimeAsync(250);
  expect(ran.mock.calls.length).toBeGreaterThan(1);
  await loop.stop();
  expect(listeners.size).toBe(0);
});

it('runs at its pace once the database is back, however often it has failed', async () => {
  const { loop, ran, comeBack, returns } = restingLoop(async () => {
    throw new Error('down');
  });
  await vi.advanceTimersByTimeAsync(60_000);
  const before = ran.mock.calls.length;
  comeBack();
  await vi.advanceTimersByTimeAsync(100);
  expect(ran).toHaveBeenCalledTimes(before + 1);
  // Another failure is the first one.
  await vi.advanceTimersByTimeAsync(250);
  expect(ran).toHaveBeenCalledTimes(before + 2);
  await loop.stop();
  expect(returns.size).toBe(0);
});
