import { BaseError, decodeFunctionResult, encodeFunctionData, type Hex, parseAbi } from 'viem';
import { tokenAbi, uniswapMulticall } from '../../../../chains/abi.ts';
import type { Network } from '../../../../chains/network.ts';
import { MarketUnreachable } from '../../../../money/market.ts';

/** The functions of Uniswap's contracts that we call. */
export const quoterAbi = parseAbi([
  'function quoteExactInput(bytes path, uint256 amountIn) returns (uint256 amountOut, uint160[] sqrtPriceX96AfterList, uint32[] initializedTicksCrossedList, uint256 gasEstimate)',
]);

const poolAbi = parseAbi([
  'function slot0() view returns (uint160 sqrtPriceX96, int24 tick, uint16 observationIndex, uint16 observationCardinality, uint16 observationCardinalityNext, uint8 feeProtocol, bool unlocked)',
]);

export const routerAbi = parseAbi([
  'struct ExactInputParams { bytes path; address recipient; uint256 amountIn; uint256 amountOutMinimum; }',
  'function exactInput(ExactInputParams params) payable returns (uint256 amountOut)',
  'function multicall(uint256 deadline, bytes[] data) payable returns (bytes[] results)',
  'function pull(address token, uint256 value) payable',
  'function wrapETH(uint256 value) payable',
  'function sweepToken(address token, uint256 amountMinimum, address recipient) payable',
]);

export const multicallAbi = parseAbi([
  'struct Call { address target; uint256 gasLimit; bytes callData; }',
  'struct Result { bool success; uint256 gasUsed; bytes returnData; }',
  'function multicall(Call[] calls) returns (uint256 blockNumber, Result[] returnData)',
]);

/**
 * The gas limit per pool, enough for dozens of price ticks. Anybody can open a pool, and the quoter searches a dry one to its last tick.
 * Without a limit a few such pools would exhaust the node's gas cap for the whole request, and every quote would fail.
 */
export const gasPerPool = 500_000n;

export interface Call {
  readonly target: Hex;
  readonly gasLimit: bigint;
  readonly callData: Hex;
}

/**
 * Many calls in one request. Undefined for each call that reverted or returned nothing: the pool does not exist, or is so dry that it
 * exceeds the gas limit.
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

/** Throws MarketUnreachable when the node's answer cannot be decoded. */
export function read<T>(data: Hex | undefined, decode: (data: Hex) => T): T | undefined {
  if (data === undefined) return undefined;
  try {
    return decode(data);
  } catch (cause) {
    if (!(cause instanceof BaseError)) throw cause;
    throw new MarketUnreachable('what the chain says of the market cannot be read', { cause });
  }
}
