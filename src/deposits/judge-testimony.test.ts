import type { Hex } from 'viem';
import { describe, expect, test } from 'vitest';
import { judgeTestimony, type Testimony } from './judge-testimony.ts';

const hash = (digit: string): Hex => `0x${digit.repeat(64)}`;
const shown = (host: string, { digit = 'a', number = 7n, isFinal = true } = {}): Testimony => ({
  host,
  says: 'shown',
  block: { number, hash: hash(digit), isFinal },
});
const otherwise = (host: string): Testimony => ({ host, says: 'otherwise' });
const silent = (host: string): Testimony => ({ host, says: 'silent' });

describe('two independent nodes that show the same in the same final block', () => {
  test.each([
    ['both', [shown('one'), shown('two')]],
    ['two of three', [silent('one'), shown('two'), shown('three')]],
    ['against one that lies', [otherwise('liar'), shown('two'), shown('three')]],
    ['one host twice, and another', [shown('one'), shown('one'), shown('two')]],
  ])('prove it: %s', (_, testimony) => {
    expect(judgeTestimony(testimony)).toEqual({ is: 'proven', blockNumber: 7n });
  });
});

describe('nothing is proven', () => {
  test.each([
    ['by one node', [shown('one')], /only one node/],
    ['by one host that is asked twice', [shown('one'), shown('one')], /only one node/],
    ['by two nodes in different blocks', [shown('one'), shown('two', { digit: 'b' })], /disagree about its block/],
    ['by two nodes at different heights', [shown('one'), shown('two', { number: 8n })], /disagree about its block/],
    ['by one host twice while another says otherwise', [shown('one'), shown('one'), otherwise('two')], /one shows it alone/],
    ['while the second is silent', [shown('one'), silent('two')], /no second node answers/],
    ['when it is shown by nobody', [otherwise('one'), otherwise('two')], /no node shows it/],
    ['when nobody answers', [silent('one'), silent('two')], /no node answers/],
    ['when there is nobody', [], /only one node/],
  ])('%s', (_, testimony, because) => {
    expect(judgeTestimony(testimony)).toEqual({ is: 'doubtful', because: expect.stringMatching(because) });
  });

  test.each([
    ['to neither', [shown('one', { isFinal: false }), shown('two', { isFinal: false })]],
    ['to the second', [shown('one'), shown('two', { isFinal: false })]],
    ['to a second host', [shown('one'), shown('one'), shown('two', { isFinal: false })]],
  ])('while the block is not final %s', (_, testimony) => {
    expect(judgeTestimony(testimony)).toEqual({ is: 'doubtful', because: 'its block is not final yet', onlyTime: true });
  });
});
