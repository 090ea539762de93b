import { expect, test } from 'vitest';
import { PaywrightError } from '#sdk';
import { asCliError } from './outcome.ts';

test.each([
  [401, 'unauthorized', 'notSignedIn'],
  [400, 'insufficient_balance', 'refused'],
  [403, 'scope_required', 'refused'],
  [409, 'possible_duplicate', 'refused'],
  [429, 'rate_limited', 'error'],
  [503, 'unavailable', 'error'],
  [404, 'unexpected_response', 'error'],
  [0, 'connection_lost', 'error'],
] as const)('%i %s is %s', (status, code, failure) => {
  const error = new PaywrightError('No.', { status, code, members: { code, status, detail: 'No.', balance: '1' } });
  expect(asCliError(error)).toMatchObject({ failure, problem: { code, detail: 'No.', balance: '1' } });
});

test('a payment whose outcome is unknown names the key that tells it', () => {
  const error = new PaywrightError('The connection was lost.', { code: 'connection_lost' });
  error.idempotencyKey = 'abc';
  expect(asCliError(error).message).toContain('--idempotency-key abc');
  expect(asCliError(error).problem['idempotencyKey']).toBe('abc');
});
