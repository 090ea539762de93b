import { expect, test } from 'vitest';
import { createGate, createPasswords } from './passwords.ts';

test('a password matches its own hash and no other', async () => {
  const passwords = createPasswords();
  const hash = await passwords.hash('correct horse');
  expect(hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/);
  expect(await passwords.inTurn((matches) => matches(hash, 'correct horse'))).toBe(true);
  expect(await passwords.inTurn((matches) => matches(hash, 'Correct horse'))).toBe(false);
});

test('the gate lets few through at a time, in order, and turns the rest away', async () => {
  const enter = createGate(2, 3);
  let inside = 0;
  let most = 0;
  const order: number[] = [];
  const work = (n: number) => async () => {
    inside++;
    most = Math.max(most, inside);
    order.push(n);
    await new Promise((resolve) => setTimeout(resolve, 5));
    inside--;
    return n;
  };
  const results = await Promise.allSettled([1, 2, 3, 4, 5, 6, 7].map((n) => enter(work(n))));
  expect(most).toBe(2);
  expect(order).toEqual([1, 2, 3, 4, 5]);
  expect(results.map((result) => result.status)).toEqual([...Array(5).fill('fulfilled'), 'rejected', 'rejected']);
  expect(results[6]).toMatchObject({ reason: { status: 503, extras: { headers: { 'Retry-After': '5' } } } });
  expect(await enter(work(8))).toBe(8);
});

test('work that fails gives its place back', async () => {
  const enter = createGate(1, 10);
  for (let i = 0; i < 5; i++) {
    await expect(enter(() => Promise.reject(new Error('no')))).rejects.toThrow('no');
  }
  expect(await enter(async () => 'still open')).toBe('still open');
});
