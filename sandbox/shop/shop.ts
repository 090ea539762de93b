import type { SearchWay } from '../../src/app/sandbox-port.ts';
import { catalog, type ShopProduct } from './catalog.ts';
import type { Checkout } from './checkout/open-checkout.ts';
import type { ShopMessage } from './message.ts';

/** Reserved names (RFC 2606), so that no real shop is meant. */
export const demoDomain = 'demo-shop.example';

export function createDemoShop(ways: readonly SearchWay[], checkout: Checkout): Shop {
  return {
    name: 'Harbour & Hearth',
    tagline: 'Useful things, made by people we know.',
    domain: demoDomain,
    get products() {
      return checkout.products();
    },
    ways,
    checkout,
  };
}

/** A shop that can be searched but takes no orders. */
export function createClosedShop(): Shop {
  return {
    name: 'The Quiet Shelf',
    tagline: 'Only to look at, for the time being.',
    domain: 'closed-shop.example',
    products: catalog.filter(({ category }) => category === 'Desk' || category === 'Pantry'),
    ways: ['woocommerce', 'json-ld'],
  };
}

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
