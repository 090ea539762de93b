import type { EventType } from '../../ledger/event-types.ts';

/** Told to the buyer, and to the shop if it has an account here; `role` says which of the two the webhook's owner is. */
export const orderEvents = [
  { name: 'order.completed' },
  { name: 'order.failed' },
  { name: 'order.fulfilled' },
  { name: 'order.refunded' },
] as const satisfies readonly EventType[];

export type OrderEvent = (typeof orderEvents)[number]['name'];
