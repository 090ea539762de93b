import type { Networks } from '../../chains/network.ts';
import type { Screening } from '../../custody/limits/screening.ts';
import type { WalletProvider } from '../../custody/wallets/provider.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import type { Checkpoint } from '../../kernel/sagas/checkpoint.ts';
import type { Ledger } from '../../ledger/ledger.ts';

export interface WithdrawalSagaParts {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly networks: Networks;
  readonly provider: WalletProvider;
  readonly screening: Screening;
  readonly logger: Logger;
  readonly checkpoint?: Checkpoint | undefined;
  /** The hourly limit in millionths of a USDC; undefined means no limit. */
  readonly perHour?: bigint | undefined;
  /** See serveLiquidity. */
  readonly passAfterMs?: number;
}
