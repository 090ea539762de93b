import { expect, it } from 'vitest';
import { readRedisUrl } from './redis-url.ts';

it.each([
  ['redis://127.0.0.1:6379', true],
  ['rediss://u:p@redis.example/1', true],
  ['redis+sentinel://one:26379,two:26379/main', true],
  ['rediss+sentinel://u:p@one,two,three/main/2?sentinel_password=x', true],
  ['redis://one,two', false],
  ['redis+sentinel://one,two', false],
  ['redis+sentinel://one,/main', false],
  ['redis+sentinel://one,two/main/first', false],
  ['http://one', false],
])('%s', (text, isTaken) => {
  expect(readRedisUrl(text) !== undefined).toBe(isTaken);
});
