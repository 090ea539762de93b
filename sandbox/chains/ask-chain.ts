import type { Hex } from 'viem';
import type { LocalChain } from './local-chain.ts';

/** What the chain answers to a call that changes nothing. */
export async function askChain<Result>(
  chain: LocalChain,
  method: string,
  params: readonly unknown[] = [],
): Promise<Result> {
  const outcome = await chain.request({ method, params });
  if ('error' in outcome) throw new Error(`${method} on ${chain.id}: ${outcome.error.message}`);
  return outcome.result as Result;
}

/** Whether no contract stands here. */
export async function isFree(chain: LocalChain, address: Hex): Promise<boolean> {
  return (await askChain<Hex>(chain, 'eth_getCode', [address, 'latest'])) === '0x';
}
