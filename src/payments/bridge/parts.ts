import type { ChainStepParts } from '../../custody/steps/parts.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Attestations } from './attestations.ts';

export interface BridgeParts extends ChainStepParts {
  readonly ledger: Ledger;
  readonly attestations: Attestations;
  readonly logger: Logger;
  /** See serveLiquidity. */
  readonly passAfterMs?: number;
}
