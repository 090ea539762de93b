import { Writable } from 'node:stream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { createReader } from './slow-reader.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

/** Somebody who takes so long for whatever is written. */
const takes = (ms: number) =>
  new Writable({ highWaterMark: 1, write: (_text, _encoding, done) => void setTimeout(done, ms) });

async function giveAll(body: Writable, { times, characters }: { times: number; characters: number }): Promise<void> {
  const reader = createReader(body, 1_000);
  const given = (async () => {
    for (let time = 0; time < times; time++) await reader.give('x'.repeat(characters));
  })();
  await vi.advanceTimersByTimeAsync(60_000);
  await given;
}

test('whoever reads slowly and steadily is waited for, however long it takes', async () => {
  const body = takes(900);
  await giveAll(body, { times: 20, characters: 8_000 });
  expect(body.destroyed).toBe(false);
});

test('whoever stops is let go when our patience is over', async () => {
  const body = takes(3_000);
  await giveAll(body, { times: 1, characters: 8_000 });
  expect(body.destroyed).toBe(true);
});

test('whoever takes a little now and then is let go too', async () => {
  const body = takes(400);
  await giveAll(body, { times: 2, characters: 1 });
  expect(body.destroyed).toBe(false);
  const dripping = takes(400);
  await giveAll(dripping, { times: 3, characters: 1 });
  expect(dripping.destroyed).toBe(true);
});
