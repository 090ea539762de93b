import { expect, test } from 'vitest';
import { createSearch } from './fan-out.ts';

const at = (seconds: number) => new Date(seconds * 1_000);

test('a look searches from shortly before the newest event of the look before', () => {
  const search = createSearch();
  expect(search.since).toBeUndefined();
  search.found(at(100));
  expect(search.since).toEqual(at(90));
  search.found(at(120));
  expect(search.since).toEqual(at(110));
});

test('everything is searched after a look that found nothing, and every fiftieth time', () => {
  const search = createSearch();
  search.found(at(100));
  search.found(undefined);
  expect(search.since).toBeUndefined();
  const whole: number[] = [];
  for (let look = 2; look < 120; look++) {
    if (search.since === undefined && look > 2) whole.push(look);
    search.found(at(100 + look));
  }
  expect(whole).toEqual([50, 100]);
});
