import type { Networks } from '../chains/network.ts';
import type { Checkpoint } from '../checkpoint.ts';
import type { Database } from '../db/database.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Logger } from '../logger.ts';
import type { WalletProvider } from '../wallets/provider.ts';
import type { Screening } from './screening.ts';

export interface WithdrawalSagaParts {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly networks: Networks;
  readonly provider: WalletProvider;
  readonly screening: Screening;
  readonly logger: Logger;
  readonly checkpoint?: Checkpoint | undefined;
  /** What may leave within an hour, in millionths of a USDC. Without it, anything. */
  readonly perHour?: bigint | undefined;
  /** See serveLiquidity. */
  readonly passAfterMs?: number;
}
