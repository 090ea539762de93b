import type { PublicClient } from 'viem';
import { describe, expect, test } from 'vitest';
import { doNodesAgree } from './find-receipt.ts';

type Answer = 'yes' | 'no' | 'silent';

function ask(...nodes: readonly (readonly [host: string, answer: Answer])[]): Promise<boolean> {
  const clients = nodes.map(([host, answer]) => ({ host, client: { answer } as unknown as PublicClient }));
  return doNodesAgree({ nodes: clients }, async (client) => {
    const { answer } = client as unknown as { readonly answer: Answer };
    if (answer === 'silent') throw new Error('no answer');
    return answer === 'yes';
  });
}

describe('nodes', () => {
  test.each([
    ['the only one says so', true, [['one', 'yes']]],
    [
      'the only host says so',
      true,
      [
        ['one', 'yes'],
        ['one', 'no'],
      ],
    ],
    ['the only one says no', false, [['one', 'no']]],
    ['the only one is silent', false, [['one', 'silent']]],
    [
      'both say so',
      true,
      [
        ['one', 'yes'],
        ['two', 'yes'],
      ],
    ],
    [
      'two of three do',
      true,
      [
        ['one', 'no'],
        ['two', 'yes'],
        ['three', 'yes'],
      ],
    ],
    [
      'one of two does',
      false,
      [
        ['one', 'yes'],
        ['two', 'no'],
      ],
    ],
    [
      'the second is silent',
      false,
      [
        ['one', 'yes'],
        ['two', 'silent'],
      ],
    ],
    [
      'one host does, twice',
      false,
      [
        ['one', 'yes'],
        ['one', 'yes'],
        ['two', 'no'],
      ],
    ],
  ] as const)('%s: %s', async (_, agreed, nodes) => {
    expect(await ask(...nodes)).toBe(agreed);
  });
});
