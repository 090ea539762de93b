/** All code reads the time through this interface, so that a test can stop or advance it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

/** Never goes backwards when the system clock is adjusted. Use it for measuring durations, not for timestamps. */
export const monotonicClock: Clock = { now: () => performance.now() };

export const systemClock: Clock = { now: () => Date.now() };
