import type { ShippingAddress } from '../../accounts/addresses/shipping-address.ts';
import type { Website } from '../search/website.ts';

/** Where a shop takes orders, by its own profile. */
export interface CheckoutPlace {
  readonly version: string;
  /** Without a slash at the end. */
  readonly endpoint: string;
  /** What the shop calls our way of paying. */
  readonly handlerId: string;
  /** Whether it asks where to send things. */
  readonly ships: boolean;
}

/** One checkout there, as an order keeps it. */
export interface Checkout extends CheckoutPlace {
  readonly id: string;
}

/** Who buys, as far as a shop is told. */
export interface Buyer {
  readonly name: string;
  /** Only one that the account has proved to be its own. */
  readonly email?: string | undefined;
  /** In E.164. */
  readonly phone?: string | undefined;
}

export interface CheckoutRequest {
  readonly itemId: string;
  readonly quantity: number;
  readonly buyer: Buyer;
  readonly address: ShippingAddress;
  /** What the buyer would like to pay in. The shop decides. */
  readonly currency: string;
}

/** What the shop asks for in all, in the smallest unit of its currency. */
export interface CheckoutTotal {
  readonly minor: bigint;
  readonly currency: string;
}

/** What a checkout comes to before anything is paid. */
export type BegunCheckout =
  | { readonly state: 'ready'; readonly checkout: Checkout; readonly total: CheckoutTotal }
  | {
      readonly state: 'needs_buyer';
      readonly checkout: Checkout;
      /** Unset when the shop has not named one that adds up. */
      readonly total: CheckoutTotal | undefined;
      readonly continueUrl: string;
    }
  /** The shop needs more of the address than there is. */
  | { readonly state: 'address_incomplete'; readonly missing: readonly string[] }
  /** The goods have to be sent, and the shop's checkout has no place for an address, or does not send them to the one it was told. */
  | {
      readonly state: 'address_not_taken';
      readonly why: 'no_place' | 'not_selected';
      readonly continueUrl: string | undefined;
    }
  /** The shop does not go on without an email, and there is none that it may be told. */
  | { readonly state: 'email_needed' }
  | { readonly state: 'refused'; readonly why: RefusalKind; readonly reason: string };

/** With a reason that can be shown: a sentence of ours, in which the shop's words are quoted (`shop-says.ts`). */
export type RefusalKind = 'sold_out' | 'address_refused' | 'refused';

/** What a shop says of an order that it was asked to take. Nothing but `accepted` is paid. */
export type ShopAnswer =
  | {
      readonly state: 'accepted';
      readonly merchantOrderId?: string | undefined;
      readonly url?: string | undefined;
      readonly total?: CheckoutTotal | undefined;
    }
  | { readonly state: 'refused'; readonly why: RefusalKind; readonly reason: string }
  | { readonly state: 'cancelled' }
  /** It knows of no such order. */
  | { readonly state: 'gone' }
  | { readonly state: 'needs_buyer'; readonly continueUrl: string }
  /** It has begun, and will say later. */
  | { readonly state: 'in_progress' }
  /** It waits to be asked. */
  | { readonly state: 'open' }
  /** It said nothing that can be understood. */
  | { readonly state: 'unknown'; readonly why: string };

/** What a shop is paid with, and what it knows our asking by. */
interface CheckoutPayment {
  readonly orderId: string;
  readonly token: string;
  readonly expiresAt: Date;
  readonly key: string;
}

/** The port to shops that take orders by themselves. Whatever is asked of them may be asked again: each asking has a key. */
export interface ShopCheckouts {
  /** Undefined when the shop does not take orders that we could pay. */
  find(website: Website): Promise<CheckoutPlace | undefined>;
  /** Throws a MerchantTrouble when no answer came. Nothing is paid by it. */
  begin(place: CheckoutPlace, request: CheckoutRequest): Promise<BegunCheckout>;
  complete(checkout: Checkout, payment: CheckoutPayment): Promise<ShopAnswer>;
  look(checkout: Checkout): Promise<ShopAnswer>;
  cancel(checkout: Checkout, key: string): Promise<ShopAnswer>;
  /** The public keys (JWK) of a shop's own profile, with which it signs what it asks of us. Only two of the three ask its site. */
  keysOf(
    website: Website,
    freshness: 'only remembered' | 'may be remembered' | 'looked up again',
  ): Promise<readonly unknown[]>;
}
