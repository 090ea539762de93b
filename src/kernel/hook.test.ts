import { expect, test } from 'vitest';
import { defineHook } from './hook.ts';

type OnRain = (place: string) => Promise<string[]>;

const rain = defineHook<OnRain>();
const snow = defineHook<OnRain>();

test('all handlers on a hook run one after the other, and their answers are one list', async () => {
  const order: string[] = [];
  const slow = rain.on(async (place) => {
    order.push('slow begins');
    await new Promise(setImmediate);
    order.push('slow ends');
    return [`roof in ${place}`, `door in ${place}`];
  });
  const quick = rain.on(async (place) => {
    order.push('quick');
    return [`window in ${place}`];
  });
  const other = snow.on(async () => ['snow']);
  expect(await rain.gather([slow, other, quick])('Bergen')).toEqual([
    'roof in Bergen',
    'door in Bergen',
    'window in Bergen',
  ]);
  expect(order).toEqual(['slow begins', 'slow ends', 'quick']);
  expect(await rain.gather([])('Bergen')).toEqual([]);
});

test('a handler that fails ends the whole: what the others did belongs to the same commit', async () => {
  const failing = rain.on(() => Promise.reject(new Error('flooded')));
  let wasAsked = false;
  const later = rain.on(async () => {
    wasAsked = true;
    return [];
  });
  await expect(rain.gather([failing, later])('Bergen')).rejects.toThrow('flooded');
  expect(wasAsked).toBe(false);
});
