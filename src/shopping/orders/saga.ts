import { amountSql, defineSaga } from '../../kernel/sagas/define-saga.ts';

const minutes = 60_000;

/** What somebody buys at a shop, from the moment that the money is set aside. */
export const orderSaga = defineSaga({
  name: 'order',
  table: 'orders',
  lane: "'shops'",
  ownLanes: ['shops'],
  about: `${amountSql('amount', 'asset')} || ' at ' || domain`,
  fixed: [
    'account_id',
    'domain',
    'merchant_id',
    'channel',
    'checkout',
    'item_id',
    'shipping_address',
    'likeness',
    'asset',
    'amount',
    'fee',
    'transfer_id',
    'ask_key',
    'cancel_key',
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
    // Nothing of it touches a chain.
    notWith: ['circle'],
  },
});

export type OrderStatus = keyof (typeof orderSaga)['states'];

/** What its buyer is told: what the shop has done with it since is part of that. */
export const shownStatuses = ['pending', 'completed', 'fulfilled', 'refunded', 'failed', 'needs_buyer'] as const;

export type ShownStatus = (typeof shownStatuses)[number];
