import { randomInt } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { flipBit, makeExport, verifyDecisions, verifyEntry } from '../../../test/support/decisions.ts';
import { firstHead } from './record.ts';

const whole = makeExport(10_000);
const { account, entries } = whole;
const headBefore = (index: number) =>
  index === 0 ? firstHead : Buffer.from((entries[index - 1] as { head: string }).head, 'hex');

/** Whether the verifier is satisfied with a text in the place of an entry. */
function isAccepted(text: string, index: number): boolean {
  try {
    verifyEntry(JSON.parse(text), { account, seq: index + 1, head: headBefore(index) });
    return true;
  } catch {
    return false;
  }
}

function complaint(file: unknown, published?: unknown): string {
  try {
    verifyDecisions(file, published);
    return 'no complaint';
  } catch (error) {
    return (error as Error).message;
  }
}

describe('of 10,000 records', () => {
  test('all are verified', () => {
    expect(verifyDecisions(whole)).toMatchObject({ from: 1, to: 10_000, sealedTo: 10_000 });
    expect(entries.every((entry, index) => isAccepted(JSON.stringify(entry), index))).toBe(true);
  });

  test('each is found in which a single bit has changed', () => {
    for (const [index, entry] of entries.entries()) {
      const text = JSON.stringify(entry);
      const bit = randomInt(8 * Buffer.byteLength(text));
      expect(isAccepted(flipBit(text, bit), index), `bit ${bit} of record ${index + 1}`).toBe(false);
    }
  });

  test('one that was changed is named', () => {
    for (const index of [0, 1, 4_999, 9_999]) {
      const { record, head } = entries[index] as (typeof entries)[number];
      const changed = entries.with(index, { record: { ...record, amount: '0' } as never, head });
      expect(complaint({ ...whole, entries: changed })).toMatch(new RegExp(`^record ${index + 1} was changed`));
    }
  });

  test('one that was removed is named', () => {
    for (const index of [0, 1, 4_999, 9_998]) {
      const left = entries.toSpliced(index, 1);
      expect(complaint({ ...whole, entries: left })).toMatch(new RegExp(`^record ${index + 1} is missing`));
    }
    expect(complaint({ ...whole, entries: entries.slice(0, -1) })).toMatch(
      /^record 10000, which .* is not in the file$/,
    );
    // A record of which only the hash is shown has no number of its own.
    const hidden = entries.map(({ head }, index) =>
      index === 20 ? { hash: '00'.repeat(32), head } : (entries[index] as object),
    );
    expect(complaint({ ...whole, entries: hidden })).toMatch(/^record 21 was changed/);
  });

  test('two that changed places are named', () => {
    for (const [one, other] of [
      [0, 1],
      [77, 9_000],
    ] as const) {
      const swapped = entries.with(one, entries[other] as never).with(other, entries[one] as never);
      expect(complaint({ ...whole, entries: swapped })).toMatch(new RegExp(`^record ${one + 1} is missing`));
    }
  });
});

test.each([1, 5])('every single bit counts, with %i accounts in the tree', (accounts) => {
  const { keys, ...file } = makeExport(1, accounts - 1);
  const text = JSON.stringify({ ...file, keys: [] });
  expect(complaint(JSON.parse(text), { keys })).toBe('no complaint');
  for (let bit = 0; bit < 8 * Buffer.byteLength(text); bit++) {
    const changed = flipBit(text, bit);
    let parsed: unknown;
    try {
      parsed = JSON.parse(changed);
    } catch {
      continue;
    }
    expect(complaint(parsed, { keys }), changed).not.toBe('no complaint');
  }
});

test('a root that another key has signed, or that is anchored elsewhere, is refused', () => {
  const { keys: others } = makeExport(1);
  const file = makeExport(3);
  expect(complaint(file, { keys: others })).toBe('the signature of the root is wrong');
  expect(complaint(file, { keys: [] })).toMatch(/^the key the-key, .* is not published$/);
  const anchors = [{ root: '2', txHash: '0x1' }];
  expect(complaint(file, { keys: file.keys, anchors })).toBe('the root is published with another anchor');
});

test('the end of a chain that no root covers is verified for its order only', () => {
  const file = makeExport(3);
  expect(verifyDecisions({ ...file, seal: null })).toMatchObject({ from: 1, to: 3, sealedTo: 0 });
  const proof = { ...file, previous: { seq: '1', head: file.entries[0]?.head }, entries: file.entries.slice(1) };
  expect(verifyDecisions(proof)).toMatchObject({ from: 2, to: 3, sealedTo: 3 });
});
