import fc from 'fast-check';
import { expect, it } from 'vitest';
import { amountOf } from '../money/amount.ts';
import { userAccount } from './account-id.ts';
import { encodeBatch } from './encode-batch.ts';
import type { Posting } from './posting.ts';

const ada = userAccount(1n, 'USDC');
const bob = userAccount(2n, 'USDC');

function posting(more: Partial<Posting> = {}): Posting {
  return {
    type: 'transfer',
    amount: amountOf('USDC', 5n),
    entries: [
      { account: ada, atomic: -5n },
      { account: bob, atomic: 5n },
    ],
    ...more,
  };
}

const encode = (postings: readonly Posting[], isKnown: (account: number) => boolean = () => false) =>
  encodeBatch(postings, { isKnown, slot: 0 });

/** Where the arguments of ledger.post stand. */
const places = { descriptions: 10, stamps: 23 } as const;

const plain = (value: string | undefined) =>
  value === undefined ? 'NULL' : `"${value.replaceAll('\\', '\\\\').replaceAll('"', '\\"')}"`;

it('writes a text for each posting, quoted, and NULL where there is none', () => {
  const text = fc.oneof(fc.constantFrom('', 'a', 'a"b\\'), fc.string());
  fc.assert(
    fc.property(fc.array(fc.option(text, { nil: undefined }), { minLength: 1, maxLength: 8 }), (descriptions) => {
      const { values } = encode(descriptions.map((description) => posting({ description })));
      const isEmpty = descriptions.every((description) => description === undefined);
      expect(values[places.descriptions]).toBe(isEmpty ? null : `{${descriptions.map(plain).join(',')}}`);
    }),
  );
});

it.each([
  ['there are none', [undefined, 0n], null],
  ['there is one', [0n, 7n, undefined], '{NULL,7,NULL}'],
])('writes only the stamps of accounts with policies, where %s', (_where, stamps, column) => {
  const postings = stamps.map((stamp) => posting(stamp === undefined ? {} : { authority: { stamp, spends: [] } }));
  expect(encode(postings).values[places.stamps]).toBe(column);
});

it('names the accounts once, falling, and those that may have to be opened', () => {
  const eve = userAccount(30n, 'USDC');
  const entries = [
    { account: bob, atomic: -5n },
    { account: eve, atomic: 5n },
  ];
  const { values, unseen } = encode([posting(), posting({ entries })], (account) => account === bob);
  expect(values.slice(0, 2)).toEqual([`{${eve},${bob},${ada}}`, `{${eve},${ada}}`]);
  expect(unseen).toEqual([eve, ada]);
});
