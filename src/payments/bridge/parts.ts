import type { Network, Networks } from '../../chains/network.ts';
import type { ChainStepParts } from '../../custody/steps/parts.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { ChainId } from '../../money/catalogue.ts';
import type { Attestations } from './attestations.ts';

export interface BridgeParts extends ChainStepParts {
  readonly ledger: Ledger;
  readonly attestations: Attestations;
  readonly logger: Logger;
  /** See serveLiquidity. */
  readonly passAfterMs?: number;
}

/** The saga waits while the operator has disabled its chain. */
export function reachedNetwork(networks: Networks, chain: ChainId): Network {
  const network = networks.get(chain);
  if (network === undefined) throw new Error(`${chain} is switched off`);
  return network;
}
