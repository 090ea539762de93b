import { encodeFunctionData, type Hex, parseAbi } from 'viem';
import { chains, homeChain } from '../money/catalogue.ts';

/** The home chain's native coin as a token. */
export const wrappedCoin = chains[homeChain].tokens[chains[homeChain].native];

/** Unwrapping emits `Withdrawal` and no `Transfer`. */
export const wrappedCoinAbi = parseAbi([
  'event Withdrawal(address indexed src, uint256 wad)',
  'function withdraw(uint256 wad)',
]);

/** The functions of Uniswap's SwapRouter02 that wrap native coin. */
const wrapperAbi = parseAbi([
  'function multicall(bytes[] data) payable returns (bytes[] results)',
  'function wrapETH(uint256 value) payable',
  'function sweepToken(address token, uint256 amountMinimum, address recipient) payable',
]);

/** A call of the wrapped coin's contract: the caller receives native coin. */
export function encodeUnwrap(atomic: bigint): Hex {
  return encodeFunctionData({ abi: wrappedCoinAbi, functionName: 'withdraw', args: [atomic] });
}

/**
 * A call of Uniswap's router that wraps the native coin sent along and forwards it. Wrapping at the contract itself
 * emits no `Transfer`, so the watcher would not see it arrive. The router forwards its whole balance: wrapped coins
 * that someone else left there arrive as well.
 */
export function encodeWrapTo(recipient: Hex, atomic: bigint): Hex {
  const wrap = encodeFunctionData({ abi: wrapperAbi, functionName: 'wrapETH', args: [atomic] });
  const send = encodeFunctionData({
    abi: wrapperAbi,
    functionName: 'sweepToken',
    args: [wrappedCoin, atomic, recipient],
  });
  return encodeFunctionData({ abi: wrapperAbi, functionName: 'multicall', args: [[wrap, send]] });
}
