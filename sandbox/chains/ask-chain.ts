import type { Hex } from 'viem';
import type { LocalChain } from './local-chain.ts';

/** Sends a read call and throws on an error. */
export async function askChain<Result>(
  chain: LocalChain,
  method: string,
  params: readonly unknown[] = [],
): Promise<Result> {
  const outcome = await chain.request({ method, params });
  if ('error' in outcome) throw new Error(`${method} on ${chain.id}: ${outcome.error.message}`);
  return outcome.result as Result;
}

export async function isFree(chain: LocalChain, address: Hex): Promise<boolean> {
  return (await askChain<Hex>(chain, 'eth_getCode', [address, 'latest'])) === '0x';
}
