import { setImmediate as turn } from 'node:timers/promises';
import { expect, it, onTestFinished, vi } from 'vitest';
import type { Claimed, DueWebhook } from './claim.ts';
import { createCourier, laneSlots } from './courier.ts';
import type { Attempted } from './recorder.ts';

/** One account per webhook, except that `greedy/0` and `greedy/1` share one. */
const webhook = (id: string): DueWebhook => ({
  id,
  accountId: BigInt(`0x${Buffer.from(id.replace(/\/.*/, '')).toString('hex')}`),
  url: '',
  sealedSecret: null,
  status: 'active',
});

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

/** A courier whose attempts end only on command. */
function open() {
  const underWay = new Map<string, (durationMs: number) => void>();
  const returned: string[] = [];
  const clock = { ms: 0, now: () => clock.ms };
  const api = { isBusy: false };
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
    isBusy: () => api.isBusy,
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
  return { courier, clock, api, returned, give, finish, running, room, settle };
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

it('begins one attempt at a time while the API is busy, and goes on at full speed afterwards', async () => {
  vi.useFakeTimers({ toFake: ['setTimeout'] });
  onTestFinished(() => void vi.useRealTimers());
  const { api, give, running, settle } = open();
  const receivers = Array.from({ length: 10 }, (_, index) => `r${index}`);
  const begun = () => receivers.reduce((sum, id) => sum + running(id), 0);
  api.isBusy = true;
  for (const id of receivers) await give(id, 4);
  expect(begun()).toBe(0);
  for (let pause = 1; pause <= 3; pause++) {
    vi.runOnlyPendingTimers();
    await settle();
    expect(begun()).toBe(pause);
  }
  api.isBusy = false;
  vi.runOnlyPendingTimers();
  await settle();
  expect(begun()).toBe(40);
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
  // The last places are reserved for accounts that have none.
  expect(slow.slice(1).reduce((sum, id) => sum + running(id), 0)).toBeGreaterThan(laneSlots.slow - 4);
});

it('lets one account have an eighth of the slots, however many receivers it has', async () => {
  const { give, running } = open();
  const silent = Array.from({ length: 20 }, (_, index) => `greedy/${index}`);
  for (const id of silent) await give(id, 4);
  expect(silent.reduce((sum, id) => sum + running(id), 0)).toBe(laneSlots.quick / 8);
  await give('quick', 4);
  expect(running('quick')).toBe(4);
});

it('passes the slots of an account on to its next deliveries', async () => {
  const { give, finish, running } = open();
  const own = Array.from({ length: 10 }, (_, index) => `greedy/${index}`);
  for (const id of own) await give(id, 4);
  expect(running('greedy/9')).toBe(0);
  await finish('greedy/0', 10_000);
  expect(running('greedy/8')).toBe(4);
});

it('holds only a part of what one account has waiting, and plans as much as it can hold', async () => {
  const { courier, give, finish, running, room } = open();
  const own = Array.from({ length: 20 }, (_, index) => `greedy/${index}`);
  for (const id of own) {
    while (room(id) < 128) {
      await give(id, room(id));
      while (running(id) > 0) await finish(id, 5);
    }
  }
  const planned = courier.plan([...own, 'quick'].map(webhook));
  const most = (wanted: (id: string) => boolean) =>
    planned.reduce((sum, { webhookId, most: one }) => sum + (wanted(webhookId) ? one : 0), 0);
  expect(most((id) => id !== 'quick')).toBe(Math.ceil(1_500 / 8));
  expect(most((id) => id === 'quick')).toBe(4);
});

it('has room for all that it planned, in whatever order it is claimed, and for no more', async () => {
  const { courier, returned, give, finish, settle, running, room } = open();
  const ids = ['x', 'y', 'z'].flatMap((account) => Array.from({ length: 20 }, (_, index) => `${account}/${index}`));
  for (const id of ids) {
    await give(id, 1);
    await finish(id, 10_000);
  }
  const webhooks = ids.map(webhook);
  const planned = courier.plan(webhooks);
  const count = planned.reduce((sum, { most }) => sum + most, 0);
  const claimed = planned.flatMap(({ webhookId, most }) => claim(webhookId, most)).reverse();
  courier.take(new Map(webhooks.map((one) => [one.id, one])), claimed, new Set());
  await settle();
  expect(returned).toEqual([]);
  expect(ids.map(room).some((most) => most > 0)).toBe(false);
  const begun = ids.reduce((sum, id) => sum + running(id), 0);
  for (const id of ids) void finish(id, 10_000);
  expect(begun + (await courier.stop(1_000)).length).toBe(count);
});

it('keeps no room for what was planned and not claimed', async () => {
  const { courier, room } = open();
  const webhooks = Array.from({ length: 1_000 }, (_, index) => webhook(`quick${index}`));
  const planned = () => courier.plan(webhooks).reduce((sum, { most }) => sum + most, 0);
  const first = planned();
  expect(planned()).toBe(first);
  courier.take(new Map(), [], new Set());
  expect(room('quick')).toBe(4);
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
