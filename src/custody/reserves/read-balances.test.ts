import { decodeFunctionData, encodeFunctionResult, type Hex, RpcRequestError, TimeoutError, toHex } from 'viem';
import { describe, expect, test } from 'vitest';
import { multicallAbi } from '../../chains/abi.ts';
import type { Network, Token } from '../../chains/network.ts';
import { readBalances } from './read-balances.ts';

const token = { asset: 'USDC', address: `0x${'aa'.repeat(20)}` } as const satisfies Token;
const addresses = (count: number): Hex[] => Array.from({ length: count }, (_, index) => toHex(index + 1, { size: 20 }));
const body = {};

/** A node: each wallet holds as much as its address says. It is told how many balances a request is for. */
function nodeWith(answer: (balances: number) => Promise<void> | void) {
  const asked: number[] = [];
  const seen = { atOnce: 0, mostAtOnce: 0 };
  const call = async ({ data }: { data: Hex }) => {
    const [calls] = decodeFunctionData({ abi: multicallAbi, data }).args;
    asked.push(calls.length);
    seen.mostAtOnce = Math.max(seen.mostAtOnce, ++seen.atOnce);
    try {
      await answer(calls.length);
    } finally {
      seen.atOnce--;
    }
    const result = calls.map(({ callData }) => ({ success: true, returnData: `0x${callData.slice(10)}` as Hex }));
    return { data: encodeFunctionResult({ abi: multicallAbi, functionName: 'aggregate3', result }) };
  };
  return { asked, seen, network: { client: { call } } as unknown as Network };
}

const tooMuch = () =>
  new RpcRequestError({ body, error: { code: -32_000, message: 'out of gas' }, url: 'http://node' });
const silence = () => new TimeoutError({ body, url: 'http://node' });

describe('the balances of many wallets', () => {
  test('are all there, in their order, from a few requests at a time', async () => {
    const { network, asked, seen } = nodeWith(() => new Promise((resolve) => setImmediate(resolve)));
    const many = addresses(4_321);
    expect(await readBalances(network, token, many, { blockNumber: 7n })).toEqual(many.map(BigInt));
    expect(asked.reduce((sum, count) => sum + count, 0)).toBe(4_321);
    expect(Math.max(...asked)).toBeLessThanOrEqual(500);
    expect(seen.mostAtOnce).toBe(4);
  });

  test('are asked for in smaller requests where a node takes no larger ones', async () => {
    const { network, asked } = nodeWith((balances) => {
      if (balances > 130) throw tooMuch();
    });
    const many = addresses(1_100);
    expect(await readBalances(network, token, many, { blockNumber: 7n })).toEqual(many.map(BigInt));
    expect(asked.filter((count) => count <= 130).reduce((sum, count) => sum + count, 0)).toBe(1_100);
  });

  test('are none when one is missing: a node that refuses all is not asked for ever', async () => {
    const { network, asked } = nodeWith((balances) => {
      if (balances > 1) throw tooMuch();
    });
    await expect(readBalances(network, token, addresses(2_000), { blockNumber: 7n })).rejects.toThrow('out of gas');
    expect(asked.length).toBeLessThan(40);
  });

  test('are not asked for again in smaller requests when a node is silent', async () => {
    const { network, asked } = nodeWith(() => {
      throw silence();
    });
    await expect(readBalances(network, token, addresses(5_000), { blockNumber: 7n })).rejects.toThrow('took too long');
    expect(asked.length).toBeLessThanOrEqual(4);
  });

  test('are not asked for any more once it is too late', async () => {
    const ending = new AbortController();
    const { network, asked } = nodeWith(async () => {
      if (asked.length >= 6) ending.abort(new Error('too late'));
    });
    let answers = 0;
    const reading = readBalances(network, token, addresses(20_000), {
      blockNumber: 7n,
      signal: ending.signal,
      onAnswer: () => answers++,
    });
    await expect(reading).rejects.toThrow('too late');
    const before = asked.length;
    await new Promise((resolve) => setImmediate(resolve));
    expect(asked.length).toBe(before);
    expect(before).toBeLessThan(12);
    expect(answers).toBeGreaterThan(0);
  });
});
