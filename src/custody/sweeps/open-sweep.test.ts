import { expect, test } from 'vitest';
import { enough } from './open-sweep.ts';

const wallets = [500n, 400n, 30n, 20n, 10n].map((atomic) => ({ atomic }));
const swept = (options: Parameters<typeof enough>[1]) => enough(wallets, options).map(({ atomic }) => atomic);

test('without anybody who waits all are swept that were chosen', () => {
  expect(swept({})).toEqual([500n, 400n, 30n, 20n, 10n]);
});

test('for somebody who waits the richest are, as many as it takes', () => {
  expect(swept({ wanted: 901n })).toEqual([500n, 400n, 30n]);
  expect(swept({ wanted: 900n })).toEqual([500n, 400n]);
  expect(swept({ wanted: 10_000n })).toEqual([500n, 400n, 30n, 20n, 10n]);
});

test('whoever waits, what is worth its gas is swept along', () => {
  expect(swept({ wanted: 1n, worth: 400n })).toEqual([500n, 400n]);
  expect(swept({ wanted: 1n, worth: undefined })).toEqual([500n]);
});
