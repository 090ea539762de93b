import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  type AccountProof,
  buildTestTree as build,
  bytes,
  leavesIn,
  verifyProof,
} from '../../../test/support/proofs.ts';
import { createRandom, cutBalance } from './plan-leaves.ts';
import { joinNodes, sumLimit } from './tree-hash.ts';

const balance = fc.oneof(
  fc.bigInt({ min: 1n, max: 10n }),
  fc.bigInt({ min: 1n, max: 10n ** 9n }),
  fc.bigInt({ min: 1n, max: 10n ** 15n }),
);
const manyBalances = fc.array(balance, { minLength: 1, maxLength: 60 });

describe('a tree over any balances', () => {
  test('gives everybody a proof that the stand-alone script accepts', () => {
    fc.assert(
      fc.property(manyBalances, fc.bigInt({ min: 0n, max: 10n ** 12n }), fc.string(), (balances, house, seed) => {
        const tree = build(balances, { house, seed });
        expect(tree.total).toBe(balances.reduce((sum, part) => sum + part, house));
        for (const index of balances.keys()) expect(verifyProof(tree.proofOf(index))).toHaveLength(1);
      }),
      { numRuns: 20 },
    );
  });

  test('holds amounts of eighteen decimals, up to what sixteen bytes hold', () => {
    const balances = [10n ** 27n, 1n, sumLimit - 10n ** 27n - 3n];
    const tree = build(balances, { asset: 'DAI', house: 1n });
    expect(tree.total).toBe(sumLimit - 1n);
    for (const index of balances.keys()) expect(verifyProof(tree.proofOf(index))).toHaveLength(1);
    expect(() => build([sumLimit - 1n, 1n], { asset: 'DAI' })).toThrow(RangeError);
    expect(() => joinNodes({ hash: bytes('a'), sum: -1n }, { hash: bytes('b'), sum: 2n })).toThrow(RangeError);
  });

  test('gives every leaf to exactly one owner, and to each at least four', () => {
    fc.assert(
      fc.property(manyBalances, fc.bigInt({ min: 0n, max: 1000n }), (balances, house) => {
        const { places, depth } = build(balances, { house });
        const all = places.flatMap((owned) => [...owned]);
        expect(new Set(all).size).toBe(all.length);
        expect(all.every((place) => place >= 0 && place < 2 ** depth)).toBe(true);
        for (const owned of places) {
          expect(owned.length).toBeGreaterThanOrEqual(4);
          expect(owned.length).toBeLessThanOrEqual(64);
        }
        expect(depth).toBeGreaterThanOrEqual(7);
      }),
      { numRuns: 30 },
    );
  });

  test('is the same with the same seed, and nowhere the same with another', () => {
    const balances = [5_000_000n, 7_000_000n, 11_000_000n];
    const tree = build(balances, { seed: 'one' });
    expect(build(balances, { seed: 'one' })).toMatchObject({ root: tree.root, places: tree.places, pages: tree.pages });
    const next = build(balances, { seed: 'two' });
    expect(next.root).not.toEqual(tree.root);
    expect(next.places[0]).not.toEqual(tree.places[0]);
    const seen = new Set(leavesIn(tree.proofOf(0)).flatMap(({ nonce, ownerSalt }) => [nonce, ownerSalt]));
    for (const { nonce, ownerSalt } of leavesIn(next.proofOf(0))) {
      expect(seen.has(nonce) || seen.has(ownerSalt)).toBe(false);
    }
    // Who compares two snapshots finds no part again by its amount, crumbs apart that everybody has.
    const amounts = new Set(leavesIn(tree.proofOf(1)).map(({ amount }) => amount));
    const again = leavesIn(next.proofOf(1)).filter(({ amount }) => Number(amount) > 0.01 && amounts.has(amount));
    expect(again).toEqual([]);
  });
});

describe('what a branch shows of others', () => {
  /** Every sum that one user gets to see: beside each step of each branch. */
  const sumsSeenBy = (proof: AccountProof) =>
    new Set(leavesIn(proof).flatMap(({ branch }) => branch.map(({ sum }) => sum)));

  test('is nobody’s balance, with two, three or many', () => {
    // Balances of a cent and more. Below, a part can be the whole: a unit cannot be cut. A larger one can meet another
    // only by chance, less than once in a million here, and with a fixed seed not at all.
    const cents = fc.bigInt({ min: 10n ** 4n, max: 10n ** 13n });
    fc.assert(
      fc.property(fc.array(cents, { minLength: 2, maxLength: 40 }), fc.string(), (balances, seed) => {
        const tree = build(balances, { seed });
        for (const viewer of balances.keys()) {
          const seen = sumsSeenBy(tree.proofOf(viewer));
          for (const [other, theirs] of balances.entries()) {
            if (other !== viewer) expect(seen.has(tree.text(theirs))).toBe(false);
          }
        }
      }),
      { numRuns: 40, seed: 20_260_102 },
    );
  });

  test('is never made of one other person’s leaves alone, all of them', () => {
    for (const users of [2, 3, 5, 26, 100]) {
      const balances = Array.from({ length: users }, (_, index) => 10n ** BigInt(4 + (index % 9)));
      const { places, depth } = build(balances, { seed: `${users}` });
      const ownerAt = new Map(places.flatMap((owned, owner) => [...owned].map((place) => [place, owner] as const)));
      // Each node of the tree is a run of places: a branch may show the sum of any of them.
      for (let height = 0; height < depth; height++) {
        for (let first = 0; first < 2 ** depth; first += 2 ** height) {
          const run = Array.from({ length: 2 ** height }, (_, offset) => ownerAt.get(first + offset));
          const owners = new Set(run.filter((owner) => owner !== undefined));
          if (owners.size !== 1) continue;
          const [owner] = owners as Set<number>;
          expect(run.filter((found) => found === owner).length).toBeLessThan(places[owner as number]?.length ?? 0);
        }
      }
    }
  });

  test('does not tell a small balance from crumbs of a large one', () => {
    // Of a large balance there are parts as small as any part of the small one, and several of them.
    const random = createRandom(bytes('crumbs'));
    const sharing = { pieces: 4, crumbs: 36 };
    const small = cutBalance(10n ** 9n, sharing, random);
    const large = cutBalance(10n ** 12n, sharing, random);
    const largestOfSmall = small.reduce((most, part) => (part > most ? part : most), 0n);
    expect(large.filter((part) => part <= largestOfSmall).length).toBeGreaterThan(10);
  });

  test('is never much more than half of a balance in one leaf', () => {
    const random = createRandom(bytes('halves'));
    const shares = Array.from({ length: 500 }, () => {
      const parts = cutBalance(10n ** 9n, { pieces: 4, crumbs: 1 }, random);
      return Number(parts.reduce((most, part) => (part > most ? part : most), 0n)) / 1e9;
    }).sort((left, right) => left - right);
    expect(shares[250]).toBeLessThan(0.5);
    expect(shares[499]).toBeLessThan(1);
  });

  test('lets nobody recognise an owner: without its nonce a leaf fits every guess', () => {
    const tree = build([10_000_000n, 20_000_000n], { house: 5n });
    const mine = tree.proofOf(0);
    const theirs = tree.proofOf(1);
    const secrets = new Set(leavesIn(theirs).flatMap(({ nonce, ownerSalt }) => [nonce, ownerSalt]));
    const shown = JSON.stringify(mine);
    for (const secret of secrets) expect(shown).not.toContain(secret);
    expect(shown).not.toContain(theirs.owner);
  });
});

describe('a balance in parts', () => {
  test('is the balance, and no part is below zero', () => {
    const count = fc.integer({ min: 1, max: 100 });
    fc.assert(
      fc.property(fc.bigInt({ min: 0n, max: sumLimit - 1n }), count, count, (whole, pieces, crumbs) => {
        const parts = cutBalance(whole, { pieces, crumbs }, createRandom(bytes(`${whole}`)));
        expect(parts).toHaveLength(pieces + crumbs);
        expect(parts.every((part) => part >= 0n)).toBe(true);
        expect(parts.reduce((sum, part) => sum + part, 0n)).toBe(whole);
      }),
    );
  });
});

describe('the random numbers', () => {
  test('fall everywhere below their limit, and equally often', () => {
    const random = createRandom(bytes('dice'));
    const counts = new Uint32Array(6);
    for (let roll = 0; roll < 60_000; roll++) counts[random.below(6)] = (counts[random.below(6)] ?? 0) + 1;
    for (const count of counts) expect(Math.abs(count - 10_000)).toBeLessThan(600);
    for (let roll = 0; roll < 1000; roll++) expect(random.cut(3n)).toBeLessThanOrEqual(3n);
  });
});
