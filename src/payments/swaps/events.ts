import type { EventType } from '../../ledger/event-types.ts';

/** `amount` and `currency` are the credit: the bought asset, or the refund. */
export const swapEvents: readonly EventType[] = [{ name: 'swap.completed' }, { name: 'swap.failed' }];
