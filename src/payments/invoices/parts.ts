import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Once } from '../../ledger/idempotency.ts';
import type { Ledger } from '../../ledger/ledger.ts';

/** What the invoice routes are made of. */
export interface InvoiceParts {
  readonly db: Database;
  readonly once: Once;
  readonly ledger: Ledger;
  readonly clock: Clock;
  /** Where the service is reached; known for certain only once it listens. */
  readonly publicUrl: () => string;
}
