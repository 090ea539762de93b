import type { ShopProduct } from './catalog.ts';

/** The ways in which the demo shop can be searched, each of which may be switched off. */
export const searchWays = ['ucp', 'shopify', 'woocommerce', 'json-ld'] as const;
export type SearchWay = (typeof searchWays)[number];

/** One of the sandbox's shops. */
export interface Shop {
  readonly name: string;
  readonly tagline: string;
  /** Where it is found by those who search it. */
  readonly domain: string;
  readonly products: readonly ShopProduct[];
  readonly ways: readonly SearchWay[];
}

/** A request to a shop, and where it believes itself to be: its own domain, or whatever a browser has used. */
export interface ShopRequest {
  readonly shop: Shop;
  readonly origin: string;
  readonly url: URL;
  readonly method: string;
  /** Undefined when there was none, or none that is JSON. */
  readonly body: unknown;
}

export interface ShopReply {
  readonly status: number;
  readonly type: string;
  readonly body: string | Buffer;
  readonly headers?: Readonly<Record<string, string>>;
}

export function json(body: unknown, more: Partial<ShopReply> = {}): ShopReply {
  return { status: 200, type: 'application/json; charset=utf-8', body: JSON.stringify(body), ...more };
}

export function priceText({ cents, currency }: Pick<ShopProduct, 'cents' | 'currency'>): string {
  return `${currency === 'USD' ? '$' : '€'}${(cents / 100).toFixed(2)}`;
}

export const productPath = ({ slug }: ShopProduct) => `/products/${slug}`;
export const picturePath = ({ slug }: ShopProduct) => `/pictures/${slug}.png`;
