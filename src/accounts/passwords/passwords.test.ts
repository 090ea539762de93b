import { setImmediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { createFairQueue, createPasswords } from './passwords.ts';

test('a password matches its own hash and no other', async () => {
  const passwords = createPasswords();
  const hash = await passwords.hash('correct horse', 'here');
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(await passwords.inTurn('here', (matches) => matches(hash, 'correct horse'))).toBe(true);
  expect(await passwords.inTurn('here', (matches) => matches(hash, 'Correct horse'))).toBe(false);
});

test('the gate lets few through at a time, in order, and turns the rest away', async () => {
  const enter = createFairQueue(2, 3);
  let inside = 0;
  let most = 0;
  const order: number[] = [];
  const work = (n: number) => async () => {
    inside++;
    most = Math.max(most, inside);
    order.push(n);
    await setImmediate();
    inside--;
    return n;
  };
  const results = await Promise.allSettled([1, 2, 3, 4, 5, 6, 7].map((n) => enter('here', work(n))));
  expect(most).toBe(2);
  expect(order).toEqual([1, 2, 3, 4, 5]);
  expect(results.map((result) => result.status)).toEqual([...Array(5).fill('fulfilled'), 'rejected', 'rejected']);
  expect(results[6]).toMatchObject({ reason: { status: 503, extras: { headers: { 'Retry-After': '5' } } } });
  expect(await enter('here', work(8))).toBe(8);
});

test('work that fails gives its place back', async () => {
  const enter = createFairQueue(1, 10);
  for (let i = 0; i < 5; i++) {
    await expect(enter('here', () => Promise.reject(new Error('no')))).rejects.toThrow('no');
  }
  expect(await enter('here', async () => 'still open')).toBe('still open');
});

/** A gate of which one place is taken until `open` is called, and the order in which others came in. */
function closedGate(queue: number) {
  const enter = createFairQueue(1, queue);
  const order: string[] = [];
  let open = () => {};
  const first = enter('nobody', () => new Promise<void>((resolve) => (open = resolve)));
  const come = (network: string) => enter(network, async () => void order.push(network));
  void first;
  return { order, come, open: () => open() };
}

test('networks take turns: nobody waits for all that another one has asked for', async () => {
  const { order, come, open } = closedGate(10);
  const all = [...['a', 'a', 'a', 'a'].map(come), come('b'), come('c'), come('b')];
  open();
  await Promise.all(all);
  expect(order).toEqual(['a', 'b', 'c', 'a', 'b', 'a', 'a']);
});

test('one network cannot fill the queue for all: it gives up its last places to others, down to their share', async () => {
  const { order, come, open } = closedGate(6);
  const flood = Array.from({ length: 50 }, () => come('flood'));
  const others = ['b', 'c', 'b', 'b', 'd', 'b'].map(come);
  const outcomes = Promise.all([Promise.allSettled(flood), Promise.allSettled(others)]);
  open();
  const [flooded, rest] = await outcomes;
  expect(rest.map(({ status }) => status)).toEqual([
    'fulfilled',
    'fulfilled',
    'fulfilled',
    'rejected',
    'fulfilled',
    'rejected',
  ]);
  expect(flooded.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
  expect(flooded.find(({ status }) => status === 'rejected')).toMatchObject({ reason: { status: 503 } });
  expect(order).toHaveLength(6);
});
