import { BaseError, decodeFunctionResult, encodeFunctionData, type Hex } from 'viem';
import { tokenAbi } from '../../../../chains/abi.ts';
import type { Network } from '../../../../chains/network.ts';
import { uniswapMulticall } from '../../../../chains/uniswap.ts';
import { MarketUnreachable } from '../../../../money/market.ts';
import { multicallAbi, poolAbi } from './abi.ts';

/**
 * What going through one pool may use of gas: dozens of its steps in price. Anybody can open a pool, and one that runs dry is
 * searched for more to its very end. Without a bound a handful of these would use up what a node spends on one request, and
 * nobody would get a quote.
 */
export const gasPerPool = 500_000n;

export interface Call {
  readonly target: Hex;
  readonly gasLimit: bigint;
  readonly callData: Hex;
}

/**
 * Many questions in one request. Undefined in the place of each call that was refused or answered nothing: there is no such pool, or it
 * holds so little that it would take too much gas.
 */
export async function askAll(
  { client }: Network,
  calls: readonly Call[],
  { blockNumber }: { readonly blockNumber: bigint },
): Promise<(Hex | undefined)[]> {
  try {
    const { data = '0x' } = await client.call({
      to: uniswapMulticall,
      data: encodeFunctionData({ abi: multicallAbi, functionName: 'multicall', args: [calls] }),
      blockNumber,
    });
    const [, results] = decodeFunctionResult({ abi: multicallAbi, functionName: 'multicall', data });
    return results.map(({ success, returnData }) => (success && returnData !== '0x' ? returnData : undefined));
  } catch (cause) {
    if (!(cause instanceof BaseError)) throw cause;
    throw new MarketUnreachable('the chain does not say what the market pays', { cause });
  }
}

/** The root of a pool's price, with 96 binary places. */
export function askPrice(pool: Hex): Call {
  const callData = encodeFunctionData({ abi: poolAbi, functionName: 'slot0' });
  return { target: pool, gasLimit: gasPerPool, callData };
}

export function readPrice(data: Hex | undefined): bigint | undefined {
  return read(data, (known) => decodeFunctionResult({ abi: poolAbi, functionName: 'slot0', data: known })[0]);
}

export function askBalance(token: Hex, owner: Hex): Call {
  const callData = encodeFunctionData({ abi: tokenAbi, functionName: 'balanceOf', args: [owner] });
  return { target: token, gasLimit: gasPerPool, callData };
}

export function readBalance(data: Hex | undefined): bigint | undefined {
  return read(data, (known) => decodeFunctionResult({ abi: tokenAbi, functionName: 'balanceOf', data: known }));
}

/** A node that answers with something else has not said what the market pays. */
export function read<T>(data: Hex | undefined, decode: (data: Hex) => T): T | undefined {
  if (data === undefined) return undefined;
  try {
    return decode(data);
  } catch (cause) {
    if (!(cause instanceof BaseError)) throw cause;
    throw new MarketUnreachable('what the chain says of the market cannot be read', { cause });
  }
}
