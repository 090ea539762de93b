import type { Clock } from '../../../src/kernel/clock.ts';
import type { Logger } from '../../../src/kernel/log/logger.ts';
import type { SigningKey } from '../../../src/kernel/signing/signing-key.ts';
import type { ShopBehaviour } from './behaviour.ts';
import type { Shelf } from './shelf.ts';
import type { Books } from './tables.ts';

/** What every checkout step needs. */
export interface Desk {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly books: Books;
  readonly shelf: Shelf;
  readonly behaviour: () => ShopBehaviour;
  /** Created on first use and stored before it is used. */
  readonly signingKey: () => Promise<SigningKey>;
  /** All that the shop knows about the service that pays it. */
  readonly publicUrl: () => string;
  readonly domain: string;
}
