import { setTimeout as sleep } from 'node:timers/promises';
import { type Clock, monotonicClock } from '../../../kernel/clock.ts';
import { ProviderError } from '../../wallets/provider.ts';

/** A rate limiter for the provider's requests per second. */
export interface Throttle {
  /** Resolves when it is this caller's turn. Throws at once when the turn would come too late. */
  pass(): Promise<void>;
  /** Blocks all callers for this long, after the provider answered 429. */
  hold(ms: number): void;
}

export interface TurnstileOptions {
  readonly perSecond: number;
  /** A caller that would wait longer is refused, so that a flood cannot grow our memory. */
  readonly maxWaitMs: number;
  readonly clock?: Clock;
  readonly wait?: (ms: number) => Promise<unknown>;
}

/** A little longer than a second, because requests that leave apart may arrive closer together. */
const windowMs = 1_050;

export function createThrottle(options: TurnstileOptions): Throttle {
  const { perSecond, maxWaitMs, clock = monotonicClock, wait = sleep } = options;
  /** When the last `perSecond` callers passed or will pass, in order. */
  const turns: number[] = [];
  let heldUntil = 0;

  return {
    async pass() {
      const now = clock.now();
      const before = turns.length < perSecond ? undefined : turns[0];
      const turn = Math.max(now, heldUntil, before === undefined ? 0 : before + windowMs);
      const waitMs = turn - now;
      if (waitMs > maxWaitMs) {
        throw new ProviderError('Too many requests to Circle are waiting.', {
          retryable: true,
          code: 'provider_busy',
          retryAfterMs: Math.ceil(waitMs),
        });
      }
      turns.push(turn);
      if (turns.length > perSecond) turns.shift();
      if (waitMs > 0) await wait(Math.ceil(waitMs));
    },
    hold(ms) {
      heldUntil = Math.max(heldUntil, clock.now() + ms);
    },
  };
}
