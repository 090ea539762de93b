import { expect, it } from 'vitest';
import { createLogThrottle } from './log-throttle.ts';

it('tells the first at once, and then how often it was within each minute', () => {
  const clock = { time: 0, now: () => clock.time };
  const sometimes = createLogThrottle(clock);
  const told: number[] = [];
  for (clock.time = 0; clock.time <= 125_000; clock.time += 1_000) sometimes((times) => told.push(times));
  expect(told).toEqual([1, 60, 60]);
});
