import { performance } from 'node:perf_hooks';
import { setTimeout as sleep } from 'node:timers/promises';

export interface Turns {
  /** Does the work when it is its turn: one after the other, in the order in which they asked. */
  take<Result>(work: () => Promise<Result>): Promise<Result>;
}

/** A turn that had to wait for the database may have taken long without having been in anybody's way. */
const longestTurnMs = 20;

/** How many times as long as a turn is the rest after it: while others have much to do, and while they have not. */
const rests = { busy: 6, quiet: 1 };

/** From which share of the time that others work, while we rest, they have much to do. */
const busyFrom = 0.5;

/**
 * For work that is long and in no hurry. However many ask, one of them works at a time, and after each turn all of them rest
 * for as long as it took, and several times as long while the process has much else to do: so all together they never take more than half
 * of it, and only a seventh from whoever is in a hurry.
 */
export function createTurns(isBusy: () => () => boolean = watchLoop): Turns {
  let before: Promise<unknown> = Promise.resolve();
  let times = rests.quiet;

  async function rest(tookMs: number): Promise<void> {
    const wasBusy = isBusy();
    await sleep(times * Math.min(longestTurnMs, Math.ceil(tookMs)));
    times = wasBusy() ? rests.busy : rests.quiet;
  }

  return {
    take(work) {
      let startedAt = 0;
      const mine = before.then(() => {
        startedAt = performance.now();
        return work();
      });
      before = mine.catch(() => {}).then(() => rest(performance.now() - startedAt));
      return mine;
    },
  };
}

/** Whether this process has much to do, from now until it is asked. */
function watchLoop(): () => boolean {
  const { eventLoopUtilization } = performance;
  const now = eventLoopUtilization();
  return () => eventLoopUtilization(now).utilization > busyFrom;
}
