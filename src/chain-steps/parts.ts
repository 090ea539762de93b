import type { Networks } from '../chains/network.ts';
import type { Checkpoint } from '../checkpoint.ts';
import type { Database } from '../db/database.ts';
import type { WalletProvider } from '../wallets/provider.ts';

/** What a step on a chain works with. */
export interface ChainStepParts {
  readonly db: Database;
  readonly networks: Networks;
  readonly provider: WalletProvider;
  readonly checkpoint?: Checkpoint | undefined;
}
