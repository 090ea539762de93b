/**
 * A receiver's limits, derived from its recent response times. A fast receiver gets a growing window; a slow one moves to a lane
 * of its own.
 */
export interface Standing {
  readonly lane: Lane;
  /** How many deliveries may be in memory for it, queued or in progress. */
  readonly window: number;
}

export type Lane = 'quick' | 'slow';

/** Concurrent requests per lane. One account gets at most an eighth of them. */
export const laneSlots: Readonly<Record<Lane, number>> = { quick: 256, slow: 256 };

/** Concurrent requests to one receiver, whatever its window. */
const mostRequests = 32;

const firstWindow = 4;
const widestWindow = 128;

/** A slower receiver holds its slots long enough to delay others. */
const slowMs = 2_000;

export const newcomer: Standing = { lane: 'quick', window: firstWindow };

/** Only the duration counts, because a fast failure delays nobody. */
export function afterAttempt({ lane, window }: Standing, durationMs: number): Standing {
  if (durationMs >= slowMs) return { lane: 'slow', window: firstWindow };
  if (lane === 'slow') return newcomer;
  return window === widestWindow ? { lane, window } : { lane, window: window + 1 };
}

export function requestsAtOnce({ window }: Standing): number {
  return Math.min(window, mostRequests);
}
