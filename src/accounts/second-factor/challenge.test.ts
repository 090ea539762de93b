import { expect, it } from 'vitest';
import { createSecrets } from '../../kernel/secrets/secrets.ts';
import { isChallenge, newChallenge } from './challenge.ts';

const secret = 'a secret of a test that is long enough';
let now = 1_800_000_000_000;
const parts = { secrets: createSecrets(secret), clock: { now: () => now } };

it('is valid for its holder and for five minutes', () => {
  const challenge = newChallenge(parts, 'session 1');
  expect(isChallenge(parts, 'session 1', challenge)).toBe(true);
  expect(isChallenge(parts, 'session 2', challenge)).toBe(false);
  now += 5 * 60_000 - 1;
  expect(isChallenge(parts, 'session 1', challenge)).toBe(true);
  now += 1;
  expect(isChallenge(parts, 'session 1', challenge)).toBe(false);
});

it('is another one each time', () => {
  expect(newChallenge(parts, 'session 1')).not.toBe(newChallenge(parts, 'session 1'));
});

it('is refused when any byte was changed, or some are missing', () => {
  const bytes = Buffer.from(newChallenge(parts, 'session 1'), 'base64url');
  for (let at = 0; at < bytes.length; at++) {
    const changed = Buffer.from(bytes);
    changed[at] = (changed[at] ?? 0) ^ 1;
    expect(isChallenge(parts, 'session 1', changed.toString('base64url')), `byte ${at}`).toBe(false);
    expect(isChallenge(parts, 'session 1', bytes.subarray(0, at).toString('base64url')), `${at} bytes`).toBe(false);
  }
});

it('stays valid while the secret is rotated', () => {
  const challenge = newChallenge(parts, 'session 1');
  const rotated = { ...parts, secrets: createSecrets('another secret that is long enough', { others: [secret] }) };
  expect(isChallenge(rotated, 'session 1', challenge)).toBe(true);
});
