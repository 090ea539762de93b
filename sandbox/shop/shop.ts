import type { SearchWay } from '../../src/app/sandbox-port.ts';
import type { ShopProduct } from './catalog.ts';
import type { Checkout } from './checkout/open-checkout.ts';
import type { ShopMessage } from './message.ts';

/** One of the sandbox's shops. */
export interface Shop {
  readonly name: string;
  readonly tagline: string;
  /** Where it is found by those who search it. */
  readonly domain: string;
  /** As they are now: prices and stock change. */
  readonly products: readonly ShopProduct[];
  readonly ways: readonly SearchWay[];
  /** Undefined for a shop that takes no orders. */
  readonly checkout?: Checkout;
}

export interface ShopRequest extends ShopMessage {
  readonly shop: Shop;
}
