import { describe, expect, test } from 'vitest';
import { createSlots, DatabaseBusy } from './slots.ts';

const patient = { total: 4, perKind: 2, patienceMs: 60_000 };

/** Whether it has got a slot by now. */
async function isDone(taking: Promise<unknown>): Promise<boolean> {
  return Promise.race([taking.then(() => true), new Promise<false>((resolve) => setImmediate(resolve, false))]);
}

describe('slots', () => {
  test('one kind has no more than its share, and the others still find room', async () => {
    const slots = createSlots(patient);
    await slots.take('invoices');
    await slots.take('invoices');
    const third = slots.take('invoices');
    expect(await isDone(third)).toBe(false);
    expect(await isDone(slots.take('webhooks'))).toBe(true);
  });

  test('all kinds together have no more than there are', async () => {
    const slots = createSlots(patient);
    for (const kind of ['a', 'a', 'b', 'b']) await slots.take(kind);
    expect(await isDone(slots.take('c'))).toBe(false);
  });

  test('what is given back goes to the first who waits and may have it', async () => {
    const slots = createSlots(patient);
    const [, giveBack] = [await slots.take('a'), await slots.take('a'), await slots.take('b'), await slots.take('b')];
    const [another, first, second] = [slots.take('b'), slots.take('a'), slots.take('a')];
    giveBack?.();
    expect(await Promise.all([another, first, second].map(isDone))).toEqual([false, true, false]);
  });

  test('whoever waits in vain is told, and takes up no place any more', async () => {
    const slots = createSlots({ total: 1, perKind: 1, patienceMs: 5 });
    const giveBack = await slots.take('a');
    await expect(slots.take('a')).rejects.toBeInstanceOf(DatabaseBusy);
    giveBack();
    expect(await isDone(slots.take('a'))).toBe(true);
  });
});
