import type { EventType } from '../../ledger/event-types.ts';

/** What became of a payment to a seller, once the chain has spoken. */
export const purchaseEvents: readonly EventType[] = [{ name: 'purchase.paid' }, { name: 'purchase.returned' }];
