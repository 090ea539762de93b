import type { Networks } from '../../chains/network.ts';
import type { WalletProvider } from '../../custody/wallets/provider.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import type { Once } from '../../ledger/idempotency.ts';
import type { OnRamp } from './on-ramp.ts';

/** What the routes about funding links are made of. */
export interface FundingParts {
  readonly db: Database;
  readonly once: Once;
  readonly secrets: Secrets;
  readonly networks: Networks;
  readonly provider: WalletProvider;
  readonly onRamps: readonly OnRamp[];
  /** Where the service is reached; known for certain only once it listens. */
  readonly publicUrl: () => string;
  /** The most that one link may ask for, in whole units. */
  readonly maximum: bigint;
}
