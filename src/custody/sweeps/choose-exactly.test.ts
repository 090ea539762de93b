import { expect, it } from 'vitest';
import { chooseExactly } from './choose-exactly.ts';

const deposits = (...amounts: bigint[]) => amounts.map((atomic, id) => ({ id, atomic }));
const ids = (chosen: readonly { id: number }[] | undefined) => chosen?.map(({ id }) => id);

it('takes the oldest deposits that come to the amount', () => {
  expect(ids(chooseExactly(deposits(10n, 20n, 30n), 30n))).toEqual([0, 1]);
  expect(ids(chooseExactly(deposits(10n, 10n), 10n))).toEqual([0]);
});

it('leaves out one that was credited later than others', () => {
  expect(ids(chooseExactly(deposits(10n, 500n, 20n), 30n))).toEqual([0, 2]);
});

it('takes none when none come to the amount', () => {
  expect(chooseExactly(deposits(10n, 20n), 25n)).toBeUndefined();
  expect(chooseExactly(deposits(10n), 0n)).toBeUndefined();
});

it('gives up on what would take for ever', () => {
  expect(chooseExactly(deposits(...Array.from({ length: 200 }, () => 2n)), 201n)).toBeUndefined();
});
