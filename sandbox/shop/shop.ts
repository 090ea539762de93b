import type { SearchWay } from '../../src/app/sandbox-port.ts';
import type { ShopProduct } from './catalog.ts';
import type { Checkout } from './checkout/open-checkout.ts';
import type { ShopMessage } from './message.ts';

export interface Shop {
  readonly name: string;
  readonly tagline: string;
  /** The domain used in searches. */
  readonly domain: string;
  /** With current prices and stock. */
  readonly products: readonly ShopProduct[];
  readonly ways: readonly SearchWay[];
  /** Undefined for a shop that takes no orders. */
  readonly checkout?: Checkout;
}

export interface ShopRequest extends ShopMessage {
  readonly shop: Shop;
}
