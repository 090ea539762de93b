import { expect, test } from 'vitest';
import { overlapsOf } from './probe.ts';
import { compare, untoldOf } from './proof.ts';

const write = (machine: string, timeline: number, begunAt: number) => ({
  machine,
  number: begunAt,
  timeline,
  begunAt,
  acknowledgedAt: begunAt + 1,
});

test('a primary that gives way acknowledges nothing after its successor', () => {
  expect(overlapsOf([write('m1', 1, 0), write('m2', 2, 10), write('m1', 3, 20)])).toEqual([]);
  const late = write('m1', 1, 20);
  expect(overlapsOf([write('m1', 1, 0), write('m2', 2, 10), late])).toEqual([late]);
});

test('two machines that were promoted to one timeline are two primaries', () => {
  const [earlier, other, later] = [write('m1', 2, 0), write('m2', 2, 3), write('m1', 2, 6)];
  expect(overlapsOf([earlier, other, later])).toEqual([other]);
});

const acknowledged = (feature: string, id: string, amount: string) => ({ feature, handle: 'PA-1', id, amount });
const row = (id: string, amount: bigint, isUndone = false) => ({ id, amount, cost: amount, isUndone });

test('an operation is there once, with the amount that was acknowledged', () => {
  const swap = acknowledged('swap', 'swp_1', '5');
  expect(compare([swap], [row('swp_1', 5_000_000n)])).toEqual([]);
  expect(compare([swap], [])).toEqual(['swp_1 is missing']);
  expect(compare([swap], [row('swp_1', 4_999_999n)])).toEqual(['swp_1 is about 4999999, and 5000000 was asked for']);
  expect(compare([], [row('swp_1', 5_000_000n)])).toEqual(['swp_1 was told to nobody']);
  expect(compare([], [row('swp_1', 5_000_000n, true)])).toEqual([]);
  expect(compare([swap, swap], [row('swp_1', 5_000_000n)])).toEqual(['was acknowledged twice under one id']);
});

test('what a seller may take is at most what was allowed', () => {
  const call = acknowledged('call', 'pur_1', '0.01');
  expect(compare([call], [row('pur_1', 1_000n)])).toEqual([]);
  expect(compare([call], [row('pur_1', 10_001n)])).toEqual(['pur_1 is about 10001, and 10000 was asked for']);
});

test('funding that was acknowledged is found by the id of its posting', () => {
  const funding = acknowledged('funding', 'trf_01kp3v2m8rfk2s6y0e6v9q4w1x', '10');
  const [missing] = compare([funding], []);
  expect(missing).toMatch(/^[0-9a-f]{32} is missing$/);
  expect(compare([funding], [row(missing?.slice(0, 32) ?? '', 10_000_000n)])).toEqual([]);
});

test('each payment to a subscriber has arrived at the receiver', () => {
  const paid = { ...acknowledged('transfer', 'trf_1', '0.25'), to: 'PA-2' };
  const event = (type: string) => ({
    eventId: 'evt_1',
    body: JSON.stringify({ id: 'evt_1', type, data: { transferId: 'trf_1', recipient: { handle: 'PA-2' } } }),
  });
  const look = (arrived: readonly ReturnType<typeof event>[], subscriber = 'PA-2') =>
    untoldOf({ arrived, acknowledged: [paid], subscribers: new Set([subscriber]) });
  expect(look([event('payment.received')])).toEqual([]);
  expect(look([])).toEqual(['PA-2 was never told that it received trf_1']);
  expect(look([event('payment.sent')])).toHaveLength(1);
  expect(look([], 'PA-3')).toEqual([]);
});
