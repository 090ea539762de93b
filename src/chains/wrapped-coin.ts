import { encodeFunctionData, type Hex, parseAbi } from 'viem';
import { chains, homeChain } from '../money/catalogue.ts';

/** The home chain's own coin as a token. */
export const wrappedCoin = chains[homeChain].tokens[chains[homeChain].native];

/** The contract that holds Polygon's own coin wrapped. It tells of unwrapping by an event of its own, and of no transfer. */
export const wrappedCoinAbi = parseAbi([
  'event Withdrawal(address indexed src, uint256 wad)',
  'function withdraw(uint256 wad)',
]);

/** What wraps for others: the parts of Uniswap's SwapRouter02 that we call for it, written by hand. */
const wrapperAbi = parseAbi([
  'function multicall(bytes[] data) payable returns (bytes[] results)',
  'function wrapETH(uint256 value) payable',
  'function sweepToken(address token, uint256 amountMinimum, address recipient) payable',
]);

/** A call of the wrapped coin's contract: as much native coin comes to whoever calls. */
export function encodeUnwrap(atomic: bigint): Hex {
  return encodeFunctionData({ abi: wrappedCoinAbi, functionName: 'withdraw', args: [atomic] });
}

/**
 * A call of Uniswap's router, with so much native coin along with it: wraps it and sends it on. Wrapping at the contract
 * itself would tell of no transfer, so that nobody who reads the chain could see it arrive. The router sends all that it
 * has: should somebody have left wrapped coins there, more arrives.
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
