import type { Hex } from 'viem';
import { describe, expect, test } from 'vitest';
import { compareNodes, type NodeAnswer, type ShownTransfer } from './compare-nodes.ts';

const hash = (digit: string): Hex => `0x${digit.repeat(64)}`;
const sender: Hex = `0x${'5'.repeat(40)}`;
const truth = { atomic: 5n, sender, proofs: ['eip3009:1'], blockNumber: 7n, blockHash: hash('a') };
const shown = (host: string, changed: Partial<ShownTransfer> = {}): NodeAnswer => ({
  host,
  says: 'shown',
  shown: { ...truth, isFinal: true, ...changed },
});
const otherwise = (host: string): NodeAnswer => ({ host, says: 'otherwise' });
const silent = (host: string): NodeAnswer => ({ host, says: 'silent' });

describe('two independent nodes that show the same in the same final block', () => {
  test.each([
    ['both', [shown('one'), shown('two')]],
    ['two of three', [silent('one'), shown('two'), shown('three')]],
    ['against one that lies', [otherwise('liar'), shown('two'), shown('three')]],
    ['against one that exaggerates', [shown('liar', { atomic: 10n ** 12n }), shown('two'), shown('three')]],
    ['one host twice, and another', [shown('one'), shown('one'), shown('two')]],
  ])('prove it: %s', (_, testimony) => {
    expect(compareNodes(testimony)).toEqual({ is: 'proven', shown: truth });
  });
});

describe('nothing is proven', () => {
  test.each([
    ['by one node', [shown('one')], /only one host/],
    ['by one host that is asked twice', [shown('one'), shown('one')], /only one host/],
    ['by two nodes in different blocks', [shown('one'), shown('two', { blockHash: hash('b') })], /disagree/],
    ['by two nodes at different heights', [shown('one'), shown('two', { blockNumber: 8n })], /disagree/],
    ['in different amounts', [shown('one'), shown('two', { atomic: 6n })], /disagree/],
    ['from different senders', [shown('one'), shown('two', { sender: `0x${'6'.repeat(40)}` })], /disagree/],
    ['with different proofs', [shown('one'), shown('two', { proofs: [] })], /disagree/],
    [
      'by one host twice while another says otherwise',
      [shown('one'), shown('one'), otherwise('two')],
      /only one shows it/,
    ],
    ['while the second is silent', [shown('one'), silent('two')], /no second node answers/],
    ['when it is shown by nobody', [otherwise('one'), otherwise('two')], /no node shows it/],
    ['when nobody answers', [silent('one'), silent('two')], /no node answers/],
    ['when there is nobody', [], /only one host/],
  ])('%s', (_, testimony, because) => {
    expect(compareNodes(testimony)).toEqual({ is: 'doubtful', because: expect.stringMatching(because) });
  });

  test.each([
    ['to neither', [shown('one', { isFinal: false }), shown('two', { isFinal: false })]],
    ['to the second', [shown('one'), shown('two', { isFinal: false })]],
    ['to a second host', [shown('one'), shown('one'), shown('two', { isFinal: false })]],
  ])('while the block is not final %s', (_, testimony) => {
    expect(compareNodes(testimony)).toEqual({
      is: 'doubtful',
      because: 'its block is not final yet',
      onlyTime: true,
    });
  });
});
