import { expect, test } from 'vitest';
import { type KeyNode, toTree } from './key-tree.ts';

const key = (id: string, path: string) => ({ id, place: path.at(-1) as string, path: [...path] });
const draw = (nodes: readonly KeyNode<{ id: string }>[]): unknown =>
  Object.fromEntries(nodes.map(({ key: { id }, below }) => [id, draw(below)]));

test('keys are below their parents', () => {
  expect(draw(toTree([key('a', 'a'), key('c', 'abc'), key('b', 'ab'), key('d', 'ad'), key('e', 'e')]))).toEqual({
    a: { b: { c: {} }, d: {} },
    e: {},
  });
});

test('a key whose parent has ended is below the next one that works, or a root', () => {
  expect(draw(toTree([key('a', 'a'), key('c', 'abc'), key('y', 'xy')]))).toEqual({ a: { c: {} }, y: {} });
});

test('of a rotated key and its replacement, the replacement has the keys below', () => {
  expect(draw(toTree([key('a', 'a'), key('a2', 'a'), key('b', 'ab')]))).toEqual({ a: {}, a2: { b: {} } });
  expect(draw(toTree([key('b', 'ab'), key('a2', 'a'), key('a', 'a')]))).toEqual({ a: {}, a2: { b: {} } });
});
