import { encodeEventTopics, encodeFunctionData, getAddress, type Hex, slice } from 'viem';
import { tokenAbi } from '../../chains/abi.ts';
import { askChain } from '../chains/ask-chain.ts';
import type { LocalChain } from '../chains/local-chain.ts';

/** Who owns how much of a token. */
export type Holdings = ReadonlyMap<Hex, bigint>;

const [transfer] = encodeEventTopics({ abi: tokenAbi, eventName: 'Transfer' });

/** Everybody who was ever sent some, with what they have left. */
export async function findHoldings(chain: LocalChain, token: Hex): Promise<Holdings> {
  const logs = await askChain<readonly { topics: readonly [Hex, Hex, Hex] }[]>(chain, 'eth_getLogs', [
    { address: token, topics: [transfer], fromBlock: '0x0', toBlock: 'latest' },
  ]);
  const holdings = new Map<Hex, bigint>();
  for (const holder of new Set(logs.map(({ topics: [, , to] }) => getAddress(slice(to, 12))))) {
    const data = encodeFunctionData({ abi: tokenAbi, functionName: 'balanceOf', args: [holder] });
    const atomic = BigInt(await askChain<Hex>(chain, 'eth_call', [{ to: token, data }, 'latest']));
    if (atomic > 0n) holdings.set(holder, atomic);
  }
  return holdings;
}
