import type { Networks } from '../chains/network.ts';
import type { Checkpoint } from '../checkpoint.ts';
import type { Database } from '../db/database.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Logger } from '../logger.ts';
import type { WalletProvider } from '../wallets/provider.ts';

export interface SweepParts {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly networks: Networks;
  readonly provider: WalletProvider;
  readonly logger: Logger;
  readonly checkpoint?: Checkpoint | undefined;
}

/** The checkpoints of a sweep, in the order in which it passes them. */
export const sweepCheckpoints = [
  'sweep.chosen',
  'sweep.signed',
  'sweep.written',
  'sweep.sending',
  'sweep.taken',
  'sweep.sent',
  'sweep.confirmed',
  'sweep.judged',
  'sweep.settled',
] as const;
