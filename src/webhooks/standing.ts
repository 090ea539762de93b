/**
 * What a receiver's latest answers have earned it. A quick one is given more at once, so that it is kept busy; a slow one
 * is moved to a lane where it waits among its like.
 */
export interface Standing {
  readonly lane: Lane;
  /** How many deliveries may be held for it, under way or next. */
  readonly window: number;
}

export type Lane = 'quick' | 'slow';

/** Requests under way in each lane, to all receivers together. One account has an eighth of them at most. */
export const laneSlots: Readonly<Record<Lane, number>> = { quick: 256, slow: 256 };

/** Requests under way to one receiver, whatever its window. */
const mostRequests = 32;

const firstWindow = 4;
const widestWindow = 128;

/** Who takes longer, or never answers, holds its slots so long that others would feel it. */
const slowMs = 2_000;

export const newcomer: Standing = { lane: 'quick', window: firstWindow };

/** A failure that comes quickly costs nobody anything: only time counts. */
export function afterAttempt({ lane, window }: Standing, durationMs: number): Standing {
  if (durationMs >= slowMs) return { lane: 'slow', window: firstWindow };
  if (lane === 'slow') return newcomer;
  return window === widestWindow ? { lane, window } : { lane, window: window + 1 };
}

export function requestsAtOnce({ window }: Standing): number {
  return Math.min(window, mostRequests);
}
