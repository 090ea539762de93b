import type { Clock } from '../clock.ts';

/** For what strangers can make happen: told at once, and then once a minute with how often it happened since. */
export function createSometimes(clock: Clock, everyMs = 60_000): (tell: (times: number) => void) => void {
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
