import type { ShippingAddress } from '../../accounts/addresses/shipping-address.ts';
import { type Amount, amountOf } from '../../money/amount.ts';
import { assets, type Currency } from '../../money/catalogue.ts';
import { minorUnitOf, type Price } from '../search/price.ts';
import type { Website } from '../search/website.ts';

/** Where a shop takes orders, from its own UCP profile. */
export interface CheckoutPlace {
  readonly version: string;
  /** Without a trailing slash. */
  readonly endpoint: string;
  /** The shop's id for our payment handler. */
  readonly handlerId: string;
  /** Whether its checkout takes a shipping address. */
  readonly ships: boolean;
}

export interface Checkout extends CheckoutPlace {
  readonly id: string;
}

/** What the shop learns about the buyer. */
export interface Buyer {
  readonly name: string;
  /** Only a verified email. */
  readonly email?: string | undefined;
  /** In E.164. */
  readonly phone?: string | undefined;
}

export interface CheckoutRequest {
  readonly itemId: string;
  readonly quantity: number;
  readonly buyer: Buyer;
  readonly address: ShippingAddress;
  /** The buyer's preference; the shop decides. */
  readonly currency: string;
}

/** The total in the currency's minor unit. */
export interface CheckoutTotal {
  readonly minor: bigint;
  readonly currency: string;
}

/** The result of starting a checkout. Nothing is paid yet. */
export type BegunCheckout =
  | { readonly state: 'ready'; readonly checkout: Checkout; readonly total: CheckoutTotal }
  | {
      readonly state: 'needs_buyer';
      readonly checkout: Checkout;
      /** Undefined if the shop's total is missing or does not add up. */
      readonly total: CheckoutTotal | undefined;
      readonly continueUrl: string;
    }
  /** The shop needs more address fields. */
  | { readonly state: 'address_incomplete'; readonly missing: readonly string[] }
  /** The goods have to be shipped, but the checkout takes no address or does not ship to the one we sent. */
  | {
      readonly state: 'address_not_taken';
      readonly why: 'no_place' | 'not_selected';
      readonly continueUrl: string | undefined;
    }
  /** The shop requires an email, and the account has no verified one. */
  | { readonly state: 'email_needed' }
  | { readonly state: 'refused'; readonly why: RefusalKind; readonly reason: string };

/** The reason is a sentence of ours that quotes the shop (`shop-says.ts`). */
export type RefusalKind = 'sold_out' | 'address_refused' | 'refused';

/** A shop's answer about an order. Only `accepted` pays the shop. */
export type ShopAnswer =
  | {
      readonly state: 'accepted';
      readonly merchantOrderId?: string | undefined;
      readonly url?: string | undefined;
      readonly total?: CheckoutTotal | undefined;
    }
  | { readonly state: 'refused'; readonly why: RefusalKind; readonly reason: string }
  | { readonly state: 'cancelled' }
  /** The shop does not know the order. */
  | { readonly state: 'gone' }
  | { readonly state: 'needs_buyer'; readonly continueUrl: string }
  /** The shop is working on it and answers later. */
  | { readonly state: 'in_progress' }
  /** The checkout is open and waits for completion. */
  | { readonly state: 'open' }
  /** No usable answer. */
  | { readonly state: 'unknown'; readonly why: string };

interface CheckoutPayment {
  readonly orderId: string;
  readonly token: string;
  readonly expiresAt: Date;
  readonly key: string;
}

/** The port to shops with their own checkout. Every request carries an idempotency key and can be repeated. */
export interface ShopCheckouts {
  /** Undefined if the shop does not take orders that we can pay. */
  find(website: Website): Promise<CheckoutPlace | undefined>;
  /** Throws a MerchantTrouble if no response arrives. Pays nothing. */
  begin(place: CheckoutPlace, request: CheckoutRequest): Promise<BegunCheckout>;
  complete(checkout: Checkout, payment: CheckoutPayment): Promise<ShopAnswer>;
  look(checkout: Checkout): Promise<ShopAnswer>;
  cancel(checkout: Checkout, key: string): Promise<ShopAnswer>;
  /**
   * The public keys (JWK) of the shop's profile, which verify the shop's requests to us. `only remembered` sends no request to
   * the site.
   */
  keysOf(
    website: Website,
    freshness: 'only remembered' | 'may be remembered' | 'looked up again',
  ): Promise<readonly unknown[]>;
}

/** Converts a total in minor units to the stablecoin's atomic units. */
export function toAmount(asset: Currency, { minor, currency }: CheckoutTotal): Amount {
  return amountOf(asset, minor * 10n ** BigInt(assets[asset].decimals - minorUnitOf(currency)));
}

/** The total in the currency's minor unit. It is 0 if the price is finer than that unit, because it cannot be paid. */
export function totalOf({ atomic, decimals, currency = '' }: Price, quantity: number): CheckoutTotal {
  const missing = minorUnitOf(currency) - decimals;
  return { minor: missing < 0 ? 0n : atomic * BigInt(quantity) * 10n ** BigInt(missing), currency };
}
