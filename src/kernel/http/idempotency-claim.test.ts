import { hash } from 'node:crypto';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { createSecrets, hashKeysOf } from '../secrets/secrets.ts';
import { GivenAmount } from './amount-field.ts';
import { claimOf } from './idempotency-claim.ts';

const secret = 'a'.repeat(32);
const former = 'b'.repeat(32);

/** The stored hashes of two days are compared with it. */
const hashed = (by: string, request: readonly unknown[]) =>
  hash('sha256', hashKeysOf(by).requests + JSON.stringify(request), 'hex').slice(0, 32);

const bodies = fc.oneof(
  fc.jsonValue(),
  fc.constantFrom(undefined, new Date(0), { left: undefined }, [undefined]),
  fc.record({ amount: fc.double().map((given) => new GivenAmount(given)), to: fc.string() }),
);
const params = fc.oneof(fc.constantFrom(undefined, {}, Object.create(null)), fc.dictionary(fc.string(), fc.string()));

it('hashes the JSON of operation, parameters and body, as it always has', () => {
  const secrets = createSecrets(secret, { former: [hashKeysOf(former)] });
  fc.assert(
    fc.property(fc.oneof(fc.constant('createTransfer'), fc.string()), params, bodies, (routeId, inPath, body) => {
      const { requestHash, formerHashes } = claimOf('k', { routeId, params: inPath, body }, secrets);
      const request = [routeId, inPath, body];
      expect([requestHash, ...(formerHashes?.() ?? [])]).toEqual([hashed(secret, request), hashed(former, request)]);
    }),
  );
});

it('has no former hashes where no secret was replaced', () => {
  const claim = claimOf('k', { routeId: 'createTransfer', params: {}, body: {} }, createSecrets(secret));
  expect(Object.keys(claim)).toEqual(['key', 'requestHash']);
});
