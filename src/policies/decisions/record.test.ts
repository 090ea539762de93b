import { createHash } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { createTree, leafHash, treeOf } from './merkle.ts';
import { canonicalJson } from './record.ts';

const sha256 = (...parts: readonly Uint8Array[]) => createHash('sha256').update(Buffer.concat(parts)).digest();

test('the members of an object are sorted, and the order in which they were written does not matter', () => {
  const text = '{"B":"ü\\n","a":[null,{"x":"2","y":"1"}],"é":""}';
  expect(canonicalJson({ é: '', a: [null, { y: '1', x: '2' }], B: 'ü\n' })).toBe(text);
  expect(canonicalJson({ B: 'ü\n', a: [null, { x: '2', y: '1' }], é: '' })).toBe(text);
});

test('what has several spellings has no canonical form', () => {
  for (const value of [1, 1n, true, undefined, { a: 1 }, [true]]) expect(() => canonicalJson(value)).toThrow(TypeError);
});

test('the canonical form is JSON that says the same', () => {
  const { value } = fc.letrec((tie) => ({
    value: fc.oneof(
      { maxDepth: 3 },
      fc.string({ unit: 'binary' }),
      fc.constant(null),
      fc.array(tie('value')),
      fc.dictionary(
        fc.string().filter((name) => name !== '__proto__'),
        tie('value'),
      ),
    ),
  }));
  fc.assert(
    fc.property(value, (any) => {
      expect(JSON.parse(canonicalJson(any))).toEqual(any);
    }),
  );
});

/** RFC 6962, 2.1, to the letter. */
function treeHash(leaves: readonly Buffer[]): Buffer {
  if (leaves.length === 0) return sha256();
  if (leaves.length === 1) return leaves[0] as Buffer;
  const split = 2 ** Math.ceil(Math.log2(leaves.length) - 1);
  return sha256(Buffer.of(1), treeHash(leaves.slice(0, split)), treeHash(leaves.slice(split)));
}

/** RFC 6962, 2.1.1, to the letter. */
function pathTo(place: number, leaves: readonly Buffer[]): Buffer[] {
  if (leaves.length <= 1) return [];
  const split = 2 ** Math.ceil(Math.log2(leaves.length) - 1);
  const [left, right] = [leaves.slice(0, split), leaves.slice(split)];
  return place < split ? [...pathTo(place, left), treeHash(right)] : [...pathTo(place - split, right), treeHash(left)];
}

test('the tree is that of RFC 6962, whatever the number of leaves', () => {
  for (let count = 0; count <= 70; count++) {
    const leaves = Array.from({ length: count }, (_, index) => sha256(Buffer.from(`leaf ${index}`)));
    const tree = treeOf(leaves);
    expect(tree.root()).toEqual(treeHash(leaves));
    const places = [0, count >> 1, count - 2, count - 1].filter((place) => place >= 0 && place < count);
    for (const place of places) expect(tree.path(place)).toEqual(Buffer.concat(pathTo(place, leaves)));
  }
});

test('a tree has exactly as many leaves as it was made for', () => {
  const leaf = sha256();
  expect(() => createTree(2).root()).toThrow(RangeError);
  const tree = treeOf([leaf, leaf]);
  expect(() => tree.append(leaf)).toThrow(RangeError);
  expect(() => createTree(0).append(leaf)).toThrow(RangeError);
});

test('a leaf names the account, the number of its records and its head', () => {
  const leaf = { account: 'PA-1', salt: Buffer.alloc(32, 1), seq: 7n, head: Buffer.alloc(32, 2) };
  const hashed = leafHash(leaf);
  expect(hashed).toHaveLength(32);
  for (const other of [{ account: 'PA-2' }, { salt: Buffer.alloc(32, 3) }, { seq: 8n }, { head: Buffer.alloc(32, 3) }])
    expect(leafHash({ ...leaf, ...other })).not.toEqual(hashed);
});
