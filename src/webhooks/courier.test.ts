import { setImmediate as turn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import type { Claimed, DueWebhook } from './claim.ts';
import { createCourier } from './courier.ts';
import type { Attempted } from './record-results.ts';
import { laneSlots } from './standing.ts';

const webhook = (id: string): DueWebhook => ({ id, accountId: 1n, url: '', sealedSecret: null, status: 'active' });

function claim(webhookId: string, count: number): Claimed[] {
  return Array.from({ length: count }, (_, index) => ({
    id: `${webhookId}-${index}`,
    accountId: 1n,
    webhookId,
    claimId: '',
    eventId: '',
    body: '',
    attemptsMade: 0,
  }));
}

/** A courier whose attempts end only when they are told to. */
function open() {
  const underWay = new Map<string, (durationMs: number) => void>();
  const returned: string[] = [];
  const clock = { ms: 0, now: () => clock.ms };
  const courier = createCourier({
    attempt: (_webhook, delivery) =>
      new Promise<Attempted>((resolve) => {
        underWay.set(delivery.id, (durationMs) => {
          underWay.delete(delivery.id);
          resolve({ delivery, durationMs } as Attempted);
        });
      }),
    onResult: () => {},
    onReturn: ({ id }) => void returned.push(id),
    onRoom: () => {},
    patienceMs: 1_000,
    clock,
  });
  const give = async (id: string, count: number) => {
    courier.take(new Map([[id, webhook(id)]]), claim(id, count), new Set());
    await settle();
  };
  const settle = async () => {
    for (let turns = 0; turns < 100; turns++) await turn();
  };
  const finish = async (id: string, durationMs: number) => {
    for (const [delivery, end] of [...underWay]) if (delivery.startsWith(`${id}-`)) end(durationMs);
    await settle();
  };
  const running = (id: string) => [...underWay.keys()].filter((delivery) => delivery.startsWith(`${id}-`)).length;
  const room = (id: string) => courier.plan([webhook(id)])[0]?.most ?? 0;
  return { courier, clock, returned, give, finish, running, room, settle };
}

it('begins with few requests, and has more under way for a receiver that is quick', async () => {
  const { give, finish, running, room } = open();
  expect(room('a')).toBe(4);
  await give('a', 4);
  expect([running('a'), room('a')]).toEqual([4, 0]);
  await finish('a', 5);
  expect(room('a')).toBe(8);
  for (let round = 0; round < 12; round++) {
    await give('a', room('a'));
    while (running('a') > 0) await finish('a', 5);
  }
  expect(room('a')).toBe(128);
  await give('a', 128);
  expect(running('a')).toBe(32);
});

it('lets slow receivers take slots from one another only', async () => {
  const { give, finish, running, room } = open();
  const slow = Array.from({ length: laneSlots.slow / 4 + 10 }, (_, index) => `slow${index}`);
  for (const id of slow) {
    await give(id, 1);
    await finish(id, 10_000);
    await give(id, 4);
  }
  expect(slow.reduce((sum, id) => sum + running(id), 0)).toBe(laneSlots.slow);
  expect(room('quick')).toBe(4);
  await give('quick', 4);
  expect(running('quick')).toBe(4);
  const [last = ''] = slow.slice(-1);
  expect([running(last), room(last)]).toEqual([0, 0]);
  await finish('slow0', 10_000);
  expect(slow.slice(-10).reduce((sum, id) => sum + running(id), 0)).toBe(4);
});

it('gives back what it could not begin in time', async () => {
  const { clock, returned, give, finish, running } = open();
  await give('a', 6);
  expect(running('a')).toBe(4);
  clock.ms = 1_001;
  await finish('a', 1_001);
  expect([running('a'), returned]).toEqual([0, ['a-4', 'a-5']]);
});

it('hands over what was not begun when it is stopped', async () => {
  const { courier, give, finish } = open();
  await give('a', 6);
  const stopping = courier.stop(60_000);
  await finish('a', 5);
  expect((await stopping).map(({ id }) => id)).toEqual(['a-4', 'a-5']);
});
