import type { Change, Journal } from './journal.ts';
import type { Order, Session } from './session.ts';

/** What the shop writes down. */
export interface Tables {
  /** Its signing key. */
  readonly secret: string;
  /** What differs from the catalog, by slug. */
  readonly product: { readonly cents: number; readonly stock: number };
  readonly session: Session;
  readonly order: Order;
  /** By Idempotency-Key: what was asked, and the answer once there is one. */
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
