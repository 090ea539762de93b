import type { Networks } from '../../chains/network.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import type { Checkpoint } from '../../kernel/sagas/checkpoint.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { WalletProvider } from '../wallets/provider.ts';

export interface SweepParts {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly networks: Networks;
  readonly provider: WalletProvider;
  readonly logger: Logger;
  readonly checkpoint?: Checkpoint | undefined;
}
