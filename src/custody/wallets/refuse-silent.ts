import type { SilentChains } from '../../chains/silent-chains.ts';
import { type ChainId, chains } from '../../money/catalogue.ts';
import { silentErrors } from './errors.ts';

const tryAgain = { headers: { 'Retry-After': '30' } };

/** Refuses a request that needs one of these chains while it is silent. */
export async function refuseSilent(silentChains: SilentChains, ...needed: readonly ChainId[]): Promise<void> {
  const silent = await silentChains();
  const name = needed.find((chain) => silent.includes(chain));
  if (name === undefined) return;
  throw silentErrors.chain_not_available(
    `${chains[name].name} has not responded for a minute. No money was moved. Try again later; operations on other chains still work.`,
    tryAgain,
  );
}
