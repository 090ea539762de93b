import { expect, test } from 'vitest';
import { createMemoryLimiter } from '../../kernel/rate-limit/memory-limiter.ts';
import { createFreeCalls } from './count-free.ts';

const clock = { time: 0, now: () => clock.time };
const limiter = createMemoryLimiter(clock);
let accounts = 0n;
const newAccount = () => {
  const id = ++accounts;
  return (host: string) => createFreeCalls(limiter, id, `https://${host}/paid`);
};
const times = async (count: number, call: () => Promise<void>) => {
  for (let each = 0; each < count; each++) await call();
};
const freely = { code: 'too_many_free_answers' };
const failing = { code: 'too_many_failed_calls' };

test('checking uses up nothing, and only one call gets the last place', async () => {
  const calls = newAccount()('a.example');
  await times(500, calls.refuseFull);
  await times(119, calls.countFree);
  const both = await Promise.allSettled([calls.countFree(), calls.countFree()]);
  expect(both.map(({ status }) => status)).toEqual(['fulfilled', 'rejected']);
  await expect(calls.refuseFull()).rejects.toMatchObject(freely);
});

test('a seller that fails is blocked alone, for ten minutes', async () => {
  const to = newAccount();
  await times(150, to('a.example').countFailure);
  await expect(to('a.example').refuseFull()).rejects.toMatchObject(failing);
  await to('b.example').refuseFull();
  clock.time += 600_000;
  await to('a.example').refuseFull();
});

test('many failing sellers block the account for all sellers', async () => {
  const to = newAccount();
  for (let each = 0; each < 1_200; each++) await to(`${each}.example`).countFailure();
  await expect(to('another.example').refuseFull()).rejects.toMatchObject(failing);
  await newAccount()('another.example').refuseFull();
});
