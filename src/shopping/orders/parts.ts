import type { Clock } from '../../kernel/clock.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';
import type { Parser } from '../../kernel/parser/parser.ts';
import type { Checkpoint } from '../../kernel/sagas/checkpoint.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { ShopCheckouts } from './checkout.ts';

export interface OrderParts {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly checkouts: ShopCheckouts;
  readonly outgoing: Outgoing;
  readonly parser: Parser;
  readonly secrets: Secrets;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly checkpoint?: Checkpoint;
}
