import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { isTooCommon } from './common-passwords.ts';

const listed = readFileSync(new URL('./common-passwords.txt', import.meta.url), 'utf8')
  .trimEnd()
  .split('\n');

test('every password of the list is found, and it is a long one', () => {
  expect(listed.length).toBeGreaterThan(10_000);
  expect(listed.filter((password) => password.length < 8)).toEqual([]);
  expect(listed.filter((password) => !isTooCommon(password))).toEqual([]);
});

test('nothing between its lines, before them or after them is found', () => {
  const near = listed.flatMap((password) => [`${password}\u0001`, password.slice(0, -1), `${password}\n${password}`]);
  const known = new Set(listed);
  expect(near.filter((password) => !known.has(password) && isTooCommon(password))).toEqual([]);
  for (const password of ['', '!', '~~~~~~~~~~~~', 'ÿÿÿÿÿÿÿÿ', '\n', 'a\nb']) expect(isTooCommon(password)).toBe(false);
});

test.each(['12345678', 'PassWord1', 'QWERTYUIOP', 'iloveyou1', 'Paywright', 'paywright2026!'])(
  '%s is too common',
  (password) => {
    expect(isTooCommon(password)).toBe(true);
  },
);

test.each(['correct horse', 'correct horse battery', 'a long password', 'wrong horse'])('%s is not', (password) => {
  expect(isTooCommon(password)).toBe(false);
});

test.each([
  'ada.lovelace@example.com',
  'Ada.Lovelace',
  'AdaLovelace1815',
  'PA-7K2M9QXA',
  'Countess Ada',
  'countess-ada!',
])('an account is not opened by what it is called: %s', (password) => {
  const known = { email: 'ada.lovelace@example.com', handle: 'PA-7K2M9QXA', name: 'Countess Ada' };
  expect(isTooCommon(password)).toBe(false);
  expect(isTooCommon(password, known)).toBe(true);
});
