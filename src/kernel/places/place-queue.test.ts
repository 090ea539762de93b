import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { createPlaceQueue } from './place-queue.ts';
import type { Place } from './places.ts';

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

const open = () =>
  createPlaceQueue({
    what: 'pictures',
    inAll: 8,
    shares: { address: 2 },
    waiting: { inAll: 10, shares: { address: 3 }, patienceMs: 5_000 },
  });

describe('a queue for places', () => {
  it('lets the next in the line in when its owner has room', async () => {
    const queue = open();
    const first = await queue.enter({ address: 'a' });
    await queue.enter({ address: 'a' });
    const order: string[] = [];
    const waiting = ['third', 'fourth'].map((name) =>
      queue.enter({ address: 'a' }).then((place) => {
        order.push(name);
        return place;
      }),
    );
    // Others do not wait behind an owner that has used up its share.
    await queue.enter({ address: 'b' });
    expect(order).toEqual([]);
    first.leave();
    first.leave();
    const third = await (waiting[0] as Promise<Place>);
    expect(order).toEqual(['third']);
    third.leave();
    await waiting[1];
    expect(order).toEqual(['third', 'fourth']);
  });

  it('refuses after a while, and lets in no one who has been refused', async () => {
    const queue = open();
    const places = [await queue.enter({ address: 'a' }), await queue.enter({ address: 'a' })];
    const refused = expect(queue.enter({ address: 'a' })).rejects.toMatchObject({ name: 'NoPlace', isOwnShare: true });
    await vi.advanceTimersByTimeAsync(5_000);
    await refused;
    for (const place of places) place.leave();
    await queue.enter({ address: 'a' });
    await queue.enter({ address: 'a' });
  });

  it('lets an owner have only so many waiting', async () => {
    const queue = open();
    for (let taken = 0; taken < 2; taken++) await queue.enter({ address: 'a' });
    const waiting = Array.from({ length: 3 }, () => queue.enter({ address: 'a' }).catch(() => 'too late'));
    await expect(queue.enter({ address: 'a' })).rejects.toMatchObject({ isOwnShare: true });
    await vi.advanceTimersByTimeAsync(5_000);
    expect(await Promise.all(waiting)).toEqual(Array(3).fill('too late'));
  });
});
