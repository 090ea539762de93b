import { describe, expect, test } from 'vitest';
import { createMemoryLimiter } from '../../kernel/rate-limit/memory-limiter.ts';
import { createFairQueue, type Passwords } from './passwords.ts';
import { createSignInThrottle } from './sign-in-throttle.ts';

const unlimited = { free: 0, pro: 0, anonymous: 0, network: 0, pages: 0, address: 0 };

/** A throttle whose time stands still: whoever is slowed sleeps until the test lets the sleepers go on. */
function standingStill() {
  const clock = { time: 0, now: () => clock.time };
  const sleepers: { ms: number; wake: () => void }[] = [];
  const slept: number[] = [];
  const enter = createFairQueue(1, 200);
  let looked = 0;
  const passwords: Pick<Passwords, 'inTurn'> = {
    inTurn: (network, work) =>
      enter(network, () =>
        work(async (hash, password) => {
          looked++;
          return hash === password;
        }),
      ),
  };
  const throttle = createSignInThrottle({
    limiter: createMemoryLimiter(clock),
    rateLimits: unlimited,
    passwords,
    longestDelayMs: 6_000,
    clock,
    sleep: (ms) => {
      slept.push(ms);
      return new Promise<void>((wake) => sleepers.push({ ms, wake }));
    },
  });
  const settle = async () => {
    for (let turn = 0; turn < 50; turn++) await Promise.resolve();
  };
  return {
    clock,
    slept,
    sleepers,
    settle,
    get looked() {
      return looked;
    },
    attempt: (ip: string, password: string, accountId = 1n) =>
      throttle.matches({ accountId, ip, hash: 'right', password }),
    /** The same, with everybody who sleeps meanwhile woken at once. */
    async through(ip: string, password: string, accountId = 1n) {
      const outcome = throttle.matches({ accountId, ip, hash: 'right', password });
      const settled = outcome.then(
        () => 'settled',
        () => 'settled',
      );
      for (;;) {
        const first = await Promise.race([settled, settle().then(() => 'still waiting')]);
        if (first === 'settled') return outcome;
        for (const { wake } of sleepers.splice(0)) wake();
      }
    },
  };
}

const stranger = (n: number) => `198.51.${Math.floor(n / 250)}.${n % 250}`;

describe('strangers', () => {
  test('who fail a thousand times from a thousand networks keep nobody out, and slow who was here before not at all', async () => {
    const world = standingStill();
    expect(await world.attempt('203.0.113.1', 'right')).toBe(true);
    for (let n = 0; n < 1_000; n++) expect(await world.through(stranger(n), 'wrong')).toBe(false);
    world.slept.length = 0;
    expect(await world.attempt('203.0.113.1', 'right')).toBe(true);
    expect(world.slept).toEqual([]);
    // From a network that nobody knows the owner waits a little, and is let in.
    expect(await world.through('203.0.113.2', 'right')).toBe(true);
    expect(world.slept).toEqual([2_000]);
  });

  test('who fail from one network wait longer each time, up to the cap, and the right password is taken there too', async () => {
    const world = standingStill();
    for (let n = 0; n < 12; n++) expect(await world.through('198.51.100.7', 'wrong')).toBe(false);
    expect(world.slept).toEqual([500, 1_000, 2_000, 4_000, 6_000, 6_000, 6_000]);
    expect(await world.through('198.51.100.7', 'right')).toBe(true);
    expect(await world.attempt('203.0.113.9', 'right')).toBe(true);
    world.clock.time += 15 * 60_000;
    world.slept.length = 0;
    expect(await world.attempt('198.51.100.7', 'right')).toBe(true);
    expect(world.slept).toEqual([]);
  });

  test('many at once gain nothing: two wait in line, the rest of that network is refused, and others are not', async () => {
    const world = standingStill();
    const attempts = Array.from({ length: 40 }, () =>
      world.attempt('198.51.100.7', 'wrong').catch((error) => error.code),
    );
    await world.settle();
    await world.settle();
    const refused = (await Promise.all(attempts.slice(7))).filter((outcome) => outcome === 'too_many_attempts');
    expect(refused).toHaveLength(33);
    expect(world.looked).toBe(5);
    expect(world.sleepers).toHaveLength(1);
    expect(await world.attempt('203.0.113.9', 'right')).toBe(true);
    world.sleepers.pop()?.wake();
    await world.settle();
    expect([world.looked, world.sleepers.length]).toEqual([7, 1]);
    world.sleepers.pop()?.wake();
    expect(await Promise.all(attempts.slice(0, 7))).toEqual(Array(7).fill(false));
  });

  test('a spray from one address over many accounts is slowed and waits in bounded numbers; a neighbour waits, and is let in', async () => {
    const world = standingStill();
    for (let n = 0; n < 30; n++) expect(await world.attempt('198.51.100.7', 'wrong', BigInt(n + 10))).toBe(false);
    const spray = Array.from({ length: 100 }, (_, n) =>
      world.attempt('198.51.100.7', 'wrong', BigInt(n + 100)).catch((error) => error.status),
    );
    for (let n = 0; n < 20; n++) await world.settle();
    expect(world.looked).toBe(30);
    expect(world.sleepers).toHaveLength(64);
    const outcomes = Promise.all(spray);
    for (let n = 0; n < 40; n++) {
      for (const { wake } of world.sleepers.splice(0)) wake();
      await world.settle();
    }
    const settled = await outcomes;
    expect(settled.filter((outcome) => outcome === 429)).toHaveLength(36);
    expect(settled.filter((outcome) => outcome === false)).toHaveLength(64);
    // Somebody who shares the address, while as many as the door lets in at once are still waiting there.
    const others = Array.from({ length: 59 }, (_, n) => world.attempt('198.51.100.7', 'wrong', BigInt(n + 300)));
    for (let n = 0; n < 20; n++) await world.settle();
    world.slept.length = 0;
    const neighbour = world.through('198.51.100.7', 'right');
    for (let n = 0; n < 40; n++) {
      for (const { wake } of world.sleepers.splice(0)) wake();
      await world.settle();
    }
    expect(await neighbour).toBe(true);
    expect(await Promise.all(others)).toEqual(Array(59).fill(false));
  });

  test('a /64 is one address, and its neighbours in the /48 slow each other only a little', async () => {
    const world = standingStill();
    for (let n = 0; n < 8; n++) await world.through(`2001:db8:1:1::${n + 1}`, 'wrong');
    expect(world.slept).toEqual([500, 1_000, 2_000]);
    world.slept.length = 0;
    expect(await world.through('2001:db8:1:2::1', 'right')).toBe(true);
    expect(world.slept).toEqual([]);
  });
});

test('many right passwords at once are all let in', async () => {
  const world = standingStill();
  const attempts = Array.from({ length: 50 }, () => world.attempt('203.0.113.1', 'right'));
  expect(await Promise.all(attempts)).toEqual(Array(50).fill(true));
  expect(world.slept).toEqual([]);
});
