import type { Network, Networks, SilentChains } from '../../chains/network.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { defineErrors } from '../../kernel/http/problem.ts';
import { type ChainId, chains } from '../../money/catalogue.ts';
import { ProviderError } from './provider.ts';

const tryAgain = { headers: { 'Retry-After': '30' } };

/** Refuses a request that needs one of these chains while it is silent. */
export async function refuseSilent(silentChains: SilentChains, ...needed: readonly ChainId[]): Promise<void> {
  const silent = await silentChains();
  const name = needed.find((chain) => silent.includes(chain));
  if (name === undefined) return;
  throw chainDownErrors.chain_not_available(
    `${chains[name].name} has not responded for a minute. No money was moved. Try again later; operations on other chains still work.`,
    tryAgain,
  );
}

/** What a node was asked. Whatever it fails with, the chain gives no answer for now. */
export async function fromChain<Result>(asking: Promise<Result>): Promise<Result> {
  try {
    return await asking;
  } catch (cause) {
    throw new ProviderError('The chain does not answer.', { retryable: true, code: 'chain_unreachable', cause });
  }
}

/** Turns a retryable failure of the wallet provider into 503 with Retry-After. */
export async function orUnavailable<Result>(asking: Promise<Result>): Promise<Result> {
  try {
    return await asking;
  } catch (error) {
    if (!(error instanceof ProviderError && error.retryable)) throw error;
    const seconds = Math.max(1, Math.ceil((error.retryAfterMs ?? 1_000) / 1_000));
    throw httpErrors.unavailable(undefined, { headers: { 'Retry-After': String(seconds) } });
  }
}

export const walletErrors = defineErrors({
  chain_not_available: {
    status: 400,
    title: 'Chain not available',
    detail: 'This service does not support that chain. GET /cross-chain/chains lists the supported ones.',
  },
});

/** The same code as above, because a client reacts alike: it takes another chain, or tries later. */
export const chainDownErrors = defineErrors({
  chain_not_available: {
    status: 503,
    title: 'Chain not available',
    detail: 'The chain’s nodes have not responded for a minute. No money was moved. Try again later.',
  },
});

export function requireNetwork(networks: Networks, id: ChainId): Network {
  const network = networks.get(id);
  if (network !== undefined) return network;
  throw walletErrors.chain_not_available(
    `This service does not support ${id}. Use one of ${[...networks.keys()].join(', ')}.`,
  );
}
