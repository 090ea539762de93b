import type { EventType } from '../../ledger/event-types.ts';

/** Sent to the buyer and, if the shop has an account here, to the shop. `role` says which of them the webhook's owner is. */
export const orderEvents = [
  { name: 'order.completed' },
  { name: 'order.failed' },
  { name: 'order.fulfilled' },
  { name: 'order.refunded' },
] as const satisfies readonly EventType[];

export type OrderEvent = (typeof orderEvents)[number]['name'];
