import type { Change, Journal } from './journal.ts';
import type { Order, Session } from './session.ts';

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
