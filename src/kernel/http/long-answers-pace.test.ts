import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { pace } from './long-answers.ts';

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] }));
afterEach(() => void vi.useRealTimers());

/** Whether a client is disconnected that takes this long for each piece of a long answer. */
async function isDisconnected(reader: { takesMs: number; pieces: number; characters: number }): Promise<boolean> {
  let left = reader.pieces - 1;
  let gaveUp = false;
  const piece = 'x'.repeat(reader.characters);
  const pieces = pace({
    beginning: piece,
    next: async () => (left-- > 0 ? { value: piece } : { done: true, value: undefined }),
    patienceMs: 1_000,
    giveUp: () => {
      gaveUp = true;
    },
  });
  const reading = (async () => {
    for await (const _ of pieces) await new Promise((resolve) => setTimeout(resolve, reader.takesMs));
  })();
  await vi.advanceTimersByTimeAsync(60_000);
  await reading;
  return gaveUp;
}

test('a client that reads slowly and steadily is waited for, however long it takes', async () => {
  expect(await isDisconnected({ takesMs: 900, pieces: 20, characters: 8_000 })).toBe(false);
});

test('a client that stops reading is disconnected when the patience is over', async () => {
  expect(await isDisconnected({ takesMs: 3_000, pieces: 1, characters: 8_000 })).toBe(true);
});

test('a client that reads a little now and then is disconnected too', async () => {
  expect(await isDisconnected({ takesMs: 400, pieces: 2, characters: 1 })).toBe(false);
  expect(await isDisconnected({ takesMs: 400, pieces: 3, characters: 1 })).toBe(true);
});
