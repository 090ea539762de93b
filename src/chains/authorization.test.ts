import { decodeFunctionData, type Hex } from 'viem';
import { describe, expect, it } from 'vitest';
import { multicallAbi, tokenAbi } from './abi.ts';
import { encodeSubmission, fateOf } from './authorization.ts';

describe('what has become of an authorization', () => {
  it.each([
    ['was used in time', { used: true, blockTime: 99n }, 'moved'],
    ['was used, and its time is over', { used: true, blockTime: 500n }, 'moved'],
    ['may still be used', { used: false, blockTime: 99n }, 'open'],
    ['can be used no more, from the very second on', { used: false, blockTime: 100n }, 'lapsed'],
  ] as const)('%s', (_, at, fate) => {
    expect(fateOf({ validBefore: 100n }, at)).toBe(fate);
  });
});

describe('a submission', () => {
  const token: Hex = '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359';
  const [from, to]: Hex[] = [
    '0x5aAeb6053F3E94C9b9A09f33669435E7Ef1BeAed',
    '0xfB6916095ca1df60bB79Ce92cE3Ea74c37c5d359',
  ];
  const authorization = {
    from: from as Hex,
    to: to as Hex,
    atomic: 5n,
    nonce: `0x${'07'.repeat(32)}` as Hex,
    validBefore: 100n,
    signature: `0x${'01'.repeat(32)}${'02'.repeat(32)}1c` as Hex,
  };

  it('lets any transfer fail, but not the reading at its end', () => {
    const { args } = decodeFunctionData({
      abi: multicallAbi,
      data: encodeSubmission(token, [authorization, authorization]),
    });
    const calls = args[0];
    expect(calls.map(({ allowFailure }) => allowFailure)).toEqual([true, true, false]);
    expect(decodeFunctionData({ abi: tokenAbi, data: calls[0]?.callData ?? '0x' })).toEqual({
      functionName: 'transferWithAuthorization',
      args: [from, to, 5n, 0n, 100n, authorization.nonce, 28, `0x${'01'.repeat(32)}`, `0x${'02'.repeat(32)}`],
    });
  });

  it('is of something', () => {
    expect(() => encodeSubmission(token, [])).toThrow();
  });
});
