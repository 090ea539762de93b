import type { Hex } from 'viem';
import type { RpcCall } from './evm-node.ts';
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

/**
 * Runs the calls in one journal write while the chain accepts unsigned transactions of this account. Throws if one of them fails.
 */
export async function requestAllAs(
  chain: LocalChain,
  account: Hex,
  calls: readonly RpcCall[],
  failure: string,
): Promise<void> {
  const outcomes = await chain.requestAll([
    { method: 'hardhat_impersonateAccount', params: [account] },
    ...calls,
    { method: 'hardhat_stopImpersonatingAccount', params: [account] },
  ]);
  for (const outcome of outcomes) if ('error' in outcome) throw new Error(`${failure}: ${outcome.error.message}`);
}

export async function isFree(chain: LocalChain, address: Hex): Promise<boolean> {
  return (await askChain<Hex>(chain, 'eth_getCode', [address, 'latest'])) === '0x';
}
