import { describe, expect, it } from 'vitest';
import { ProviderError } from '../../wallets/provider.ts';
import { createThrottle } from './throttle.ts';

/** Time that stands still while callers ask, and remembers how long each was told to wait. */
function still() {
  const waits: number[] = [];
  let now = 0;
  return {
    waits,
    leap(ms: number) {
      now += ms;
    },
    clock: { now: () => now },
    wait: async (ms: number) => void waits.push(ms),
  };
}

describe('the turnstile', () => {
  it('lets a burst through at once and spreads the rest, a full second after the one that many turns before', async () => {
    const time = still();
    const turnstile = createThrottle({ perSecond: 5, maxWaitMs: 10_000, ...time });
    for (let caller = 0; caller < 12; caller++) await turnstile.pass();
    expect(time.waits).toEqual([1050, 1050, 1050, 1050, 1050, 2100, 2100]);
  });

  it('asks nobody to wait who comes slowly', async () => {
    const time = still();
    const turnstile = createThrottle({ perSecond: 5, maxWaitMs: 10_000, ...time });
    for (let caller = 0; caller < 20; caller++) {
      await turnstile.pass();
      time.leap(210);
    }
    expect(time.waits).toEqual([]);
  });

  it('refuses who would wait too long, and the refused take nobody else’s turn', async () => {
    const time = still();
    const turnstile = createThrottle({ perSecond: 2, maxWaitMs: 1_050, ...time });
    for (let caller = 0; caller < 4; caller++) await turnstile.pass();
    for (let caller = 0; caller < 100; caller++) {
      const refusal = await turnstile.pass().then(
        () => undefined,
        (error: unknown) => error,
      );
      expect(refusal).toBeInstanceOf(ProviderError);
      expect(refusal).toMatchObject({ retryable: true, code: 'provider_busy', retryAfterMs: 2100 });
    }
    time.leap(1_050);
    await turnstile.pass();
    expect(time.waits).toEqual([1050, 1050, 1050]);
  });

  it('lets nobody through while it is held', async () => {
    const time = still();
    const turnstile = createThrottle({ perSecond: 5, maxWaitMs: 10_000, ...time });
    turnstile.hold(3_000);
    turnstile.hold(1_000);
    await turnstile.pass();
    time.leap(3_000);
    await turnstile.pass();
    expect(time.waits).toEqual([3000]);
  });
});
