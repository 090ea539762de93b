import type { Clock } from '../clock.ts';

/** For events that strangers can cause: reports the first at once, then at most one per minute with the count since. */
export function createLogThrottle(clock: Clock, everyMs = 60_000): (tell: (times: number) => void) => void {
  let times = 0;
  let toldAt = Number.NEGATIVE_INFINITY;
  return (tell) => {
    times++;
    if (clock.now() - toldAt < everyMs) return;
    tell(times);
    times = 0;
    toldAt = clock.now();
  };
}
