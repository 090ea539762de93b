/** All code reads the time through this interface, so that a test can stop or advance it. */
export interface Clock {
  /** Milliseconds since the epoch. */
  now(): number;
}

/** Never goes backwards when the system clock is adjusted. Use it for measuring durations, not for timestamps. */
export const monotonicClock: Clock = { now: () => performance.now() };

export const systemClock: Clock = { now: () => Date.now() };

/** Waits for the work, but no longer than this: then `late` decides the result, or throws. The work itself goes on. */
export async function within<Result>(ms: number, work: Promise<Result>, late: () => Result): Promise<Result> {
  let timer: NodeJS.Timeout | undefined;
  const tooLate = new Promise<void>((resolve) => {
    timer = setTimeout(resolve, ms);
  });
  return Promise.race([work, tooLate.then(late)]).finally(() => clearTimeout(timer));
}
