import { BaseError, type Hex, toFunctionSelector } from 'viem';
import { multicallAbi, multicallAddress, tokenAbi } from '../../chains/abi.ts';
import type { Network } from '../../chains/network.ts';

/**
 * Questions to the token in hex without a prefix. Hundreds share one multicall many times a second, and each has the
 * same form, so they are written by hand: viem's encoder takes longer than the rest of the request.
 */
const balanceSelector = selectorOf('balanceOf');
const stateSelector = selectorOf('authorizationState');
const aggregateSelector = toFunctionSelector(multicallAbi[0]).slice(2);

function selectorOf(name: 'balanceOf' | 'authorizationState'): string {
  const found = tokenAbi.find((item) => item.type === 'function' && item.name === name);
  if (found?.type !== 'function') throw new Error(`the token has no ${name}`);
  return toFunctionSelector(found).slice(2);
}

export function balanceOf(payer: Hex): string {
  return `${balanceSelector}${wordOf(payer)}`;
}

export function stateOf(payer: Hex, nonce: Hex): string {
  return `${stateSelector}${wordOf(payer)}${nonce.slice(2)}`;
}

/** One call, so all answers are from one block. Each answer is a number. */
export async function askToken(network: Network, token: Hex, questions: readonly string[]): Promise<readonly bigint[]> {
  if (questions.length === 0) return [];
  const { data } = await network.client.call({ to: multicallAddress, data: encodeQuestions(token, questions) });
  return decodeAnswers(data ?? '0x', questions.length);
}

const wordCharacters = 64;
const wordBytes = 32;

/** `aggregate3` of calls to one contract, none of which may fail. */
export function encodeQuestions(token: Hex, questions: readonly string[]): Hex {
  const target = wordOf(token);
  const places: string[] = [];
  const calls: string[] = [];
  let place = questions.length * wordBytes;
  for (const question of questions) {
    const padded = question.padEnd(Math.ceil(question.length / wordCharacters) * wordCharacters, '0');
    const call = `${target}${numberWord(0)}${numberWord(3 * wordBytes)}${numberWord(question.length / 2)}${padded}`;
    places.push(numberWord(place));
    calls.push(call);
    place += call.length / 2;
  }
  return `0x${aggregateSelector}${numberWord(wordBytes)}${numberWord(questions.length)}${places.join('')}${calls.join('')}`;
}

/** The head of an answer of one word: it succeeded, where its bytes are, and that they are one word. */
const answerHead = `${numberWord(1)}${numberWord(2 * wordBytes)}${numberWord(wordBytes)}`;
const answerWords = 4;

/** Accepts only what the contract returns when each answer is one word. Anything else is a node's mistake. */
export function decodeAnswers(data: Hex, count: number): readonly bigint[] {
  const begin = 2 + (2 + count) * wordCharacters;
  const isWhole = data.length === begin + count * answerWords * wordCharacters;
  if (!isWhole || !data.startsWith(`${numberWord(wordBytes)}${numberWord(count)}`, 2)) throw new UnclearAnswer();
  return Array.from({ length: count }, (_, index) => {
    const place = 2 + (2 + index) * wordCharacters;
    const answer = begin + index * answerWords * wordCharacters;
    const offset = (count + index * answerWords) * wordBytes;
    if (!data.startsWith(numberWord(offset), place) || !data.startsWith(answerHead, answer)) throw new UnclearAnswer();
    return BigInt(`0x${data.slice(answer + answerHead.length, answer + answerWords * wordCharacters)}`);
  });
}

/** Treated like a node that does not answer. */
class UnclearAnswer extends BaseError {
  override readonly name = 'UnclearAnswer';

  constructor() {
    super('The node returned something else than the answers of the token.');
  }
}

function wordOf(address: Hex): string {
  return address.slice(2).toLowerCase().padStart(wordCharacters, '0');
}

function numberWord(value: number): string {
  return value.toString(16).padStart(wordCharacters, '0');
}
