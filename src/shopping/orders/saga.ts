import type { StatePicture } from '../../kernel/http/openapi.ts';
import { amountSql, defineSaga } from '../../kernel/sagas/define-saga.ts';
import type { EventType } from '../../ledger/event-types.ts';

/** The states in the API reference. */
export const orderPicture: StatePicture = {
  caption: 'States of an order',
  way: [
    { state: 'pending', meaning: 'The money is held, and the shop is asked to accept the order.', mayFail: true },
    {
      state: 'completed',
      meaning: 'The shop accepted the order and is paid. Event for the buyer: `order.completed`.',
    },
    { state: 'fulfilled', meaning: 'The shop shipped the order. Event for the buyer: `order.fulfilled`.' },
    {
      state: 'refunded',
      meaning: 'The shop refunded the full amount. Event for the buyer: `order.refunded`.',
    },
  ],
  failed: {
    state: 'failed',
    meaning:
      'The shop did not accept the order in time, the buyer cancelled it, or the shop requires the buyer to complete it (`needs_buyer`). All the money including the fee is refunded. Event for the buyer: `order.failed`.',
  },
};

/** Sent to the buyer and, if the shop has an account here, to the shop. `role` says which of them the webhook's owner is. */
export const orderEvents = [
  { name: 'order.completed' },
  { name: 'order.failed' },
  { name: 'order.fulfilled' },
  { name: 'order.refunded' },
] as const satisfies readonly EventType[];

export type OrderEvent = (typeof orderEvents)[number]['name'];

const minutes = 60_000;

/** An order at a shop, from the moment that the money is held. */
export const orderSaga = defineSaga({
  name: 'order',
  table: 'orders',
  lane: "'shops'",
  ownLanes: ['shops'],
  about: `${amountSql('amount', 'asset')} || ' at ' || domain`,
  fixed: [
    ...'account_id domain merchant_id channel checkout item_id shipping_address likeness'.split(' '),
    ...'asset amount fee transfer_id ask_key cancel_key key_id'.split(' '),
  ],
  inTransit: { kind: 'orders_in_transit', atomic: 'amount + fee', chain: "'MATIC'" },
  states: {
    placed: {
      meaning: 'the money is set aside; the shop was, or is about to be, asked to take the order',
      next: ['completed', 'failed', 'needs_buyer'],
      withinMs: 30 * minutes,
    },
    completed: { meaning: 'the shop has taken the order, and is paid', next: [] },
    failed: { meaning: 'the shop has not taken it, and all the money is back, the fee too', next: [] },
    needs_buyer: { meaning: 'the shop wants to see the buyer; all the money is back', next: [] },
  },
  checkpoints: ['order.opened', 'order.answered', 'order.completed'],
  rehearsal: {
    request: {
      path: '/shopping/buy',
      body: {
        website: 'demo-shop.example',
        productTitle: 'Stoneware Mug, Sea',
        productBrand: 'Alder Pottery',
        amount: 24,
        paymentMethod: 'usdc',
        shippingAddress: 'Ada, 1 Main St, 94105 San Francisco, US',
      },
    },
    endsAs: 'completed',
    // An order never touches a chain.
    notWith: ['circle'],
  },
});

export type OrderStatus = keyof (typeof orderSaga)['states'];

/** The statuses of the API. They include what the shop did after it was paid. */
export const publicStatuses = ['pending', 'completed', 'fulfilled', 'refunded', 'failed', 'needs_buyer'] as const;

export type PublicStatus = (typeof publicStatuses)[number];
