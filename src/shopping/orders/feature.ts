import { accountClosing, underWay } from '../../accounts/closing/on-account-closing.ts';
import type { Database } from '../../kernel/db/database.ts';
import type { Feature } from '../../kernel/feature.ts';
import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';
import { defineSettings } from '../../kernel/settings.ts';
import type { Shopping } from '../search/open-shopping.ts';
import { orderHandler } from './advance-order.ts';
import { createOrderWaits } from './await-order.ts';
import type { BuyParts } from './buy.ts';
import { buyRoute } from './buy-route.ts';
import { cancelRoute } from './cancel-route.ts';
import type { ShopCheckouts } from './checkout.ts';
import { addOrderCommands, type OrderCommandParts } from './commands.ts';
import { orderEvents } from './events.ts';
import { addHandlerPages } from './handler-pages.ts';
import { orderRoutes } from './order-routes.ts';
import { eraseAddressesOf, eraseShippedAddressesSchedule, openSalesOf } from './orders-of-closed.ts';
import type { OrderParts } from './parts.ts';
import { type RedeemParts, redeemRoute } from './redeem-route.ts';
import { orderSaga } from './saga.ts';
import { type SaleParts, saleRoutes } from './sale-routes.ts';
import { orderPicture } from './state-picture.ts';

/** No environment variable changes these; a test may. */
const settings = {
  /** A buyer's request waits this long for the shop and is then answered as pending. */
  waitSeconds: 10,
  /** A shop has 15 minutes to take an order. After that the money comes back, unless the shop may have taken it. */
  validSeconds: 900,
  /** A shop that may have taken it has another day, which outlasts an outage, to say so. Then the order is void. */
  voidSeconds: 86_400,
  /** Signed requests per minute of one shop: ten a second is a busy shop. */
  shopPerMinute: 600,
};

interface OrderServing extends OrderParts, Omit<BuyParts, 'merchants'>, SaleParts, Omit<RedeemParts, 'shopPerMinute'> {
  readonly db: Database;
  readonly outgoing: Outgoing;
  readonly checkouts: ShopCheckouts;
  readonly shops: Pick<Shopping, 'merchants'>;
}

export const orders: Feature<{
  settings: typeof settings;
  serving: OrderServing;
  pages: { readonly publicUrl: () => string };
  working: OrderParts;
  commands: OrderCommandParts;
}> = {
  name: 'orders',
  hooks: [accountClosing.on(eraseAddressesOf), underWay.on(openSalesOf)],
  settings: defineSettings({ variables: {}, read: () => settings }),
  chapters: [
    {
      name: 'Selling',
      description: 'For shops: your sales, their fulfilment and refunds, and how you are paid.',
      states: orderPicture,
    },
  ],
  events: orderEvents,
  commands: (program, { withMoney, say }) => addOrderCommands(program, withMoney, say),
  sagas: [{ saga: orderSaga, handler: (parts) => orderHandler(parts) }],
  routes: (parts, own) => {
    const { db, once, ledger, shops } = parts;
    const decided = createOrderWaits(db, own.waitSeconds * 1_000);
    return [
      buyRoute({ ...parts, merchants: shops.merchants, ...own, decided }),
      ...orderRoutes(db),
      cancelRoute({ ...parts, decided }),
      ...saleRoutes({ db, once, ledger }),
      redeemRoute({ ...parts, ...own }),
    ];
  },
  schedules: ({ db }) => [eraseShippedAddressesSchedule(db)],
  pages: (app, { publicUrl }) => addHandlerPages(app, publicUrl),
};
