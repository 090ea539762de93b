import type { Networks } from '../../chains/network.ts';
import type { WalletProvider } from '../../custody/wallets/provider.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import type { Once } from '../../ledger/idempotency.ts';
import type { OnRamp } from './on-ramp.ts';

export interface FundingParts {
  readonly db: Database;
  readonly once: Once;
  readonly secrets: Secrets;
  readonly networks: Networks;
  readonly provider: WalletProvider;
  readonly onRamps: readonly OnRamp[];
  /** A function, because the port is known only once the server listens. */
  readonly publicUrl: () => string;
  /** In whole units. */
  readonly maximum: bigint;
}
