import type { EventType } from '../../ledger/event-types.ts';

/** `amount` and `currency` are what has come into the balance: what was bought, or all that was to be sold. */
export const swapEvents: readonly EventType[] = [{ name: 'swap.completed' }, { name: 'swap.failed' }];
