import type { Networks } from '../../chains/network.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Checkpoint } from '../../kernel/sagas/checkpoint.ts';
import type { WalletProvider } from '../wallets/provider.ts';

export interface ChainStepParts {
  readonly db: Database;
  readonly networks: Networks;
  readonly provider: WalletProvider;
  readonly checkpoint?: Checkpoint | undefined;
}
