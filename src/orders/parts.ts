import type { Checkpoint } from '../checkpoint.ts';
import type { Clock } from '../clock.ts';
import type { Database } from '../db/database.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Logger } from '../logger.ts';
import type { Outgoing } from '../outgoing/outgoing.ts';
import type { Parser } from '../parser/parser.ts';
import type { Secrets } from '../secrets.ts';
import type { ShopCheckouts } from './checkout.ts';

/** What an order works with, once it is placed. */
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
