import type { EventType } from '../../ledger/event-types.ts';

export const purchaseEvents: readonly EventType[] = [{ name: 'purchase.paid' }, { name: 'purchase.returned' }];
