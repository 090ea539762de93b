import type { UcpVersion } from '../ucp-versions.ts';

/** A line with the price that was last shown. */
export interface SessionLine {
  readonly id: string;
  readonly itemId: string;
  readonly slug: string;
  readonly title: string;
  readonly cents: number;
  readonly shippingCents: number;
  readonly quantity: number;
}

/** A UCP destination. */
export interface Destination {
  readonly id: string;
  readonly first_name?: string | undefined;
  readonly last_name?: string | undefined;
  readonly street_address?: string | undefined;
  readonly extended_address?: string | undefined;
  readonly address_locality?: string | undefined;
  readonly address_region?: string | undefined;
  readonly postal_code?: string | undefined;
  readonly address_country?: string | undefined;
  readonly phone_number?: string | undefined;
}

export interface Buyer {
  readonly first_name?: string | undefined;
  readonly last_name?: string | undefined;
  readonly email?: string | undefined;
  readonly phone_number?: string | undefined;
}

/** A redemption in progress, with its idempotency key for retries. */
export interface Attempt {
  readonly key: string;
  readonly token: string;
  readonly amount: number;
  readonly currency: string;
}

export interface Session {
  readonly id: string;
  readonly version: UcpVersion;
  readonly state: 'open' | 'completing' | 'completed' | 'canceled';
  readonly currency: 'USD' | 'EUR';
  readonly lines: readonly SessionLine[];
  readonly buyer?: Buyer | undefined;
  readonly destination?: Destination | undefined;
  readonly optionId?: string | undefined;
  /** The buyer must confirm it on the shop's pages. */
  readonly needsBuyer: boolean;
  /** Why the last payment failed. */
  readonly paymentRefused?: string | undefined;
  readonly attempt?: Attempt | undefined;
  readonly orderId?: string | undefined;
  readonly expiresAt: number;
}

/** A UCP message of type error. */
export interface Notice {
  readonly code: string;
  readonly content: string;
  readonly severity: 'recoverable' | 'requires_buyer_input' | 'unrecoverable';
  readonly path?: string;
}

/** An order. It keeps no more of the address than the pages show. */
export interface Order {
  readonly id: string;
  readonly checkoutId: string;
  readonly lines: readonly SessionLine[];
  readonly currency: 'USD' | 'EUR';
  readonly shipping: string;
  readonly shippingCents: number;
  readonly totalCents: number;
  readonly name: string;
  readonly city: string;
  readonly placedAt: number;
  /** The payer's id of the order. */
  readonly paidBy: string;
}
