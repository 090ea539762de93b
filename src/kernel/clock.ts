/** The one door to time, so that a test can stand still or leap ahead. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

/** Only ever goes forward, whatever is done to the clock on the wall. For measuring time, not for telling it. */
export const monotonicClock: Clock = { now: () => performance.now() };

export const systemClock: Clock = { now: () => Date.now() };
