import { setTimeout as sleep } from 'node:timers/promises';

export interface Turns {
  /** Does the work when it is its turn: one after the other, in the order in which they asked. */
  take<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** A turn that had to wait for the database may have taken long without having been in anybody's way. */
const longestRestMs = 20;

/**
 * For work that is long and in no hurry. However many ask, one of them works at a time, and after each turn all of them rest
 * for as long as it took: so all together they never take more than half of the process from whoever is in a hurry.
 */
export function createTurns(): Turns {
  let before: Promise<unknown> = Promise.resolve();
  return {
    take(work) {
      let startedAt = 0;
      const mine = before.then(() => {
        startedAt = performance.now();
        return work();
      });
      before = mine
        .catch(() => {})
        .then(() => sleep(Math.min(longestRestMs, Math.ceil(performance.now() - startedAt))));
      return mine;
    },
  };
}
