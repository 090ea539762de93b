import type { Clock } from '../../../src/kernel/clock.ts';
import type { Logger } from '../../../src/kernel/log/logger.ts';
import type { SigningKey } from '../../../src/kernel/signing/signing-key.ts';
import type { ShopBehaviour } from './behaviour.ts';
import type { Shelf } from './shelf.ts';
import type { Books } from './tables.ts';

/** What everybody who handles checkouts has within reach. */
export interface Desk {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly books: Books;
  readonly shelf: Shelf;
  readonly behaviour: () => ShopBehaviour;
  /** Made when it is first needed, and written down before anybody sees it. */
  readonly signingKey: () => Promise<SigningKey>;
  /** The only thing that the shop knows about the service that pays it. */
  readonly publicUrl: () => string;
  readonly domain: string;
}
