import type { UcpVersion } from '../ucp-versions.ts';
import type { Change, Journal } from './journal.ts';
import type { Buyer, Destination } from './read-body.ts';

interface ShippingOption {
  readonly id: string;
  readonly title: string;
  readonly description: string;
  readonly cents: number;
}

interface Total {
  readonly type: 'subtotal' | 'fulfillment' | 'total';
  readonly display_text: string;
  readonly amount: number;
}

const expressCents = 900;

export const linePrice = ({ cents, quantity }: SessionLine) => cents * quantity;
const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0);

/** Shipping options: heavy products cost per piece, express costs extra. */
export function shippingOptions(lines: readonly SessionLine[]): readonly ShippingOption[] {
  const cents = sum(lines.map(({ shippingCents, quantity }) => shippingCents * quantity));
  return [
    { id: 'standard', title: 'Standard', description: 'Three to five days', cents },
    { id: 'express', title: 'Express', description: 'The next day', cents: cents + expressCents },
  ];
}

export function chosenOption({ lines, optionId }: Session): ShippingOption | undefined {
  return shippingOptions(lines).find(({ id }) => id === optionId);
}

/** The parts add up to the total; prices include tax. */
export function totalsOf(session: Session): readonly Total[] {
  const subtotal = sum(session.lines.map(linePrice));
  const option = chosenOption(session);
  return [
    { type: 'subtotal', display_text: 'Subtotal', amount: subtotal },
    ...(option === undefined
      ? []
      : [{ type: 'fulfillment' as const, display_text: `${option.title} shipping`, amount: option.cents }]),
    { type: 'total', display_text: 'Total, tax included', amount: subtotal + (option?.cents ?? 0) },
  ];
}

export function totalOf(session: Session): number {
  return totalsOf(session).find(({ type }) => type === 'total')?.amount ?? 0;
}

/** The tables of the shop's journal. */
export interface Tables {
  /** The signing key. */
  readonly secret: string;
  /** Changes to the catalog, by slug. */
  readonly product: { readonly cents: number; readonly stock: number };
  readonly session: Session;
  readonly order: Order;
  /** By Idempotency-Key: the request and, once known, its response. */
  readonly answer: KeptAnswer;
}

export interface KeptAnswer {
  readonly fingerprint: string;
  readonly sessionId: string;
  readonly reply?: { readonly status: number; readonly body: string } | undefined;
  readonly at: number;
}

export type Books = Journal<Tables>;
export type BookChange = Change<Tables>;

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
