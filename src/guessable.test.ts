import { createHash } from 'node:crypto';
import { expect, test } from 'vitest';
import { whyGuessable } from './guessable.ts';

const hashOf = (algorithm: string, text: string, encoding: 'hex' | 'base64' | 'base64url') =>
  createHash(algorithm).update(text).digest(encoding);

test.each([
  ['x'.repeat(40), 'different characters'],
  ['abababababababababababababababababab', 'different characters'],
  ['s3cr-t91s3cr-t91s3cr-t91s3cr-t91', 'repeats itself'],
  ['hunter2hunter2hunter2hunter2hunter2!', 'repeats itself'],
  ['TODO-TODO-TODO-TODO-TODO-set-a-key-1', 'repeats itself'],
  ['your-32-character-key-goes-here!!!', 'first to be tried'],
  ['correct horse battery staple again', 'first to be tried'],
  ['abcdefghijklmnopqrstuvwxyz0123456789', 'alphabet'],
  ['qwertyuiopasdfghjklzxcvbnm1234567890', 'keyboard'],
  ['please-change-me-before-going-live-1', 'first to be tried'],
  ['my-very-long-Password-that-nobody-knows', 'first to be tried'],
  ['Paywright-production-2026-key-number-1', 'first to be tried'],
  ['the quick brown fox jumps over the lazy dog', 'sentence'],
  ['Four score and seven years ago our fathers brought forth', 'sentence'],
  ['My dog is called Rufus and he is 7 years old', 'sentence'],
  ['orbit lantern walnut fjord pepper', 'tried out'],
  ['lantern-walnut-lantern-walnut-orbit-fjord', 'tried out'],
  [hashOf('md5', '', 'hex'), 'hash of something'],
  [hashOf('md5', 'password', 'hex'), 'hash of something'],
  [hashOf('md5', 'password\n', 'hex').toUpperCase(), 'hash of something'],
  [hashOf('sha1', 'sunshine', 'hex'), 'hash of something'],
  [hashOf('sha256', '', 'hex'), 'hash of something'],
  [hashOf('sha256', '', 'base64'), 'hash of something'],
  [hashOf('sha256', 'password1', 'base64url'), 'hash of something'],
])('%s is guessable', (secret, why) => {
  expect(whyGuessable(secret)).toContain(why);
});

test('nothing that chance has made is', () => {
  for (let round = 0; round < 2_000; round++) {
    const random = createHash('sha256').update(`round ${round}`).digest();
    expect(whyGuessable(random.toString('hex', 0, 16))).toBeUndefined();
    expect(whyGuessable(random.toString('base64'))).toBeUndefined();
  }
  for (const separator of [' ', '-', '.', '_']) {
    const words = ['orbit', 'lantern', 'walnut', 'fjord', 'pepper', 'mosaic', 'quiver', 'tundra'];
    expect(whyGuessable(words.join(separator))).toBeUndefined();
  }
});
