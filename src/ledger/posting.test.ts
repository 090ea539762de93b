import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { amountOf } from '../money/amount.ts';
import { houseAccount, pairOf, userAccount } from './account-id.ts';
import { assertSound, type Entry, type Posting } from './posting.ts';

const accounts = [
  userAccount(1n, 'USDC'),
  userAccount(2n, 'USDC'),
  houseAccount('fees', 'USDC'),
  userAccount(1n, 'EURC'),
  userAccount(2n, 'EURC'),
  houseAccount('custody', 'USDC', 'BASE'),
];

function posting(more: Partial<Posting>): Posting {
  const entries = [
    { account: userAccount(1n, 'USDC'), atomic: -5n },
    { account: userAccount(2n, 'USDC'), atomic: 5n },
  ];
  return { type: 'transfer', amount: amountOf('USDC', 5n), entries, ...more };
}

function isSound(entries: readonly Entry[]): boolean {
  try {
    assertSound(posting({ entries }));
    return true;
  } catch (error) {
    expect(error).toBeInstanceOf(TypeError);
    return false;
  }
}

describe('a posting is sound', () => {
  it('when it moves something, names each account once and balances in every asset on every chain', () => {
    const entry = fc.record({ account: fc.constantFrom(...accounts), atomic: fc.bigInt({ min: -2n, max: 2n }) });
    fc.assert(
      fc.property(fc.array(entry, { maxLength: 5 }), (entries) => {
        const sums = new Map<number, bigint>();
        for (const { account, atomic } of entries)
          sums.set(pairOf(account), (sums.get(pairOf(account)) ?? 0n) + atomic);
        const isDistinct = new Set(entries.map(({ account }) => account)).size === entries.length;
        const moves = entries.some(({ atomic }) => atomic !== 0n);
        const isBalanced = [...sums.values()].every((sum) => sum === 0n);
        expect(isSound(entries)).toBe(moves && isDistinct && isBalanced);
      }),
      { numRuns: 5_000 },
    );
  });

  it('when a text spells out the escape of NUL', () => {
    for (const text of ['\\u0000', '\\\\u0000', 'a\\u0000b']) {
      expect(() => assertSound(posting({ details: { text } }))).not.toThrow();
      expect(() => assertSound(posting({ details: { text: `${text}\0` } }))).toThrow('NUL');
    }
  });

  it.each([
    [{ id: 'trf_x' as const }, 'trf_x is not the id of a posting'],
    [{ fee: amountOf('EURC', 1n) }, 'the fee is not in the asset of the amount'],
    [{ keyId: 'key_1' }, 'a posting of a key has a sender'],
    [{ idempotency: { accountId: 1n, key: 'k', requestHash: 'ab' } }, 'requestHash must have at least 32 hex digits'],
    [{ type: '\0' }, 'NUL'],
    [{ description: '\0' }, 'NUL'],
    [{ reference: '\0' }, 'NUL'],
    [{ details: { text: '\0' } }, 'NUL'],
    [{ spentOn: '\0' }, 'NUL'],
    [{ returns: { of: '\0', part: 1n, whole: 1n } }, 'NUL'],
    [{ keyId: '\0', senderId: 1n }, 'NUL'],
    [{ idempotency: { accountId: 1n, key: '\0', requestHash: '0'.repeat(32) } }, 'NUL'],
    [
      { entries: [{ account: accounts[0] as never, atomic: 1n }] },
      'the entries in USDC on one chain sum to 1, not to zero',
    ],
  ])('unless something is wrong with it (%#)', (wrong: Partial<Posting>, why) => {
    expect(() => assertSound(posting(wrong))).toThrow(why);
  });
});
