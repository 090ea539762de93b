import { expect, test } from 'vitest';
import { parseUrl } from './parse-url.ts';

test('an address with an umlaut is one, also for the hundred thousandth time', () => {
  let refused = 0;
  for (let time = 0; time < 100_000; time++) if (parseUrl('https://bücher.example/') === undefined) refused++;
  expect(refused).toBe(0);
});

test('what is no address is undefined', () => {
  expect(parseUrl('')).toBeUndefined();
  expect(parseUrl('shop.example')).toBeUndefined();
  expect(parseUrl('/mugs', 'https://shop.example')?.href).toBe('https://shop.example/mugs');
});
