import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Once } from '../../ledger/idempotency.ts';
import type { Ledger } from '../../ledger/ledger.ts';

export interface InvoiceParts {
  readonly db: Database;
  readonly once: Once;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** A function, because the port is known only once the server listens. */
  readonly publicUrl: () => string;
}
