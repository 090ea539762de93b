import type { Network, Networks } from '../../chains/network.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Checkpoint } from '../../kernel/sagas/checkpoint.ts';
import type { ChainId } from '../../money/catalogue.ts';
import type { WalletProvider } from '../wallets/provider.ts';

export interface ChainStepParts {
  readonly db: Database;
  readonly networks: Networks;
  readonly provider: WalletProvider;
  readonly checkpoint?: Checkpoint | undefined;
}

/** Throws while the operator has disabled the chain: the saga waits until it is back. */
export function requireNetwork(networks: Networks, chain: ChainId): Network {
  const network = networks.get(chain);
  if (network === undefined) throw new Error(`${chain} is switched off`);
  return network;
}
