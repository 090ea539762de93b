import fc from 'fast-check';
import { decodeFunctionData, encodeFunctionData, encodeFunctionResult, type Hex, numberToHex } from 'viem';
import { describe, expect, it } from 'vitest';
import { multicallAbi, tokenAbi } from '../../chains/abi.ts';
import { balanceOf, decodeAnswers, encodeQuestions, stateOf } from './ask-token.ts';

const hexOf = (bytes: number) =>
  fc.uint8Array({ minLength: bytes, maxLength: bytes }).map((one) => `0x${Buffer.from(one).toString('hex')}` as Hex);
const questions = fc.array(fc.record({ payer: hexOf(20), nonce: fc.option(hexOf(32)) }), {
  minLength: 1,
  maxLength: 40,
});
const token = '0x3c499c542cEF5E3811e1192ce70d8cC03d5c3359';
const answersOf = (words: readonly bigint[]) =>
  encodeFunctionResult({
    abi: multicallAbi,
    functionName: 'aggregate3',
    result: words.map((word) => ({ success: true, returnData: numberToHex(word, { size: 32 }) })),
  });

describe('questions to the token', () => {
  it('are encoded as viem encodes them', () => {
    fc.assert(
      fc.property(questions, (asked) => {
        const ours = asked.map(({ payer, nonce }) => (nonce === null ? balanceOf(payer) : stateOf(payer, nonce)));
        const calls = asked.map(({ payer, nonce }) => ({
          target: token as Hex,
          allowFailure: false,
          callData:
            nonce === null
              ? encodeFunctionData({ abi: tokenAbi, functionName: 'balanceOf', args: [payer] })
              : encodeFunctionData({ abi: tokenAbi, functionName: 'authorizationState', args: [payer, nonce] }),
        }));
        const theirs = encodeFunctionData({ abi: multicallAbi, functionName: 'aggregate3', args: [calls] });
        expect(encodeQuestions(token, ours)).toBe(theirs);
        expect(decodeFunctionData({ abi: multicallAbi, data: theirs }).args[0]).toHaveLength(asked.length);
      }),
    );
  });

  it('have the answers that viem would encode', () => {
    const words = fc.array(fc.bigInt({ min: 0n, max: 2n ** 256n - 1n }), { minLength: 1, maxLength: 40 });
    fc.assert(
      fc.property(words, (given) => {
        expect(decodeAnswers(answersOf(given), given.length)).toEqual(given);
      }),
    );
  });
});

describe('an answer of another form', () => {
  const whole = answersOf([7n, 0n]);
  const failed = encodeFunctionResult({
    abi: multicallAbi,
    functionName: 'aggregate3',
    result: [7n, 0n].map((word, index) => ({ success: index === 0, returnData: numberToHex(word, { size: 32 }) })),
  });
  const empty = encodeFunctionResult({
    abi: multicallAbi,
    functionName: 'aggregate3',
    result: [
      { success: true, returnData: '0x' },
      { success: true, returnData: numberToHex(1n, { size: 64 }) },
    ],
  });

  it.each([
    ['nothing', '0x'],
    ['too little', whole.slice(0, -64)],
    ['too much', `${whole}${'0'.repeat(64)}`],
    ['fewer answers', answersOf([7n])],
    ['a failed call', failed],
    ['answers of another length', empty],
  ])('is refused: %s', (_, data) => {
    expect(() => decodeAnswers(data as Hex, 2)).toThrow('something else');
  });
});
