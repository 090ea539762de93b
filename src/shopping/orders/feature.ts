import { z } from 'zod';
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

interface OrderSettings {
  /** How long the shop has to accept an order. */
  readonly validSeconds: number;
  /** How long after that a shop that may have accepted the order has to confirm it. */
  readonly voidSeconds: number;
  /** Limit on signed requests per shop and minute. */
  readonly shopPerMinute: number;
  /** How long a purchase waits for the shop before the response says `pending`. */
  readonly waitSeconds: number;
}

interface OrderServing extends OrderParts, Omit<BuyParts, 'merchants'>, SaleParts, Omit<RedeemParts, 'shopPerMinute'> {
  readonly db: Database;
  readonly outgoing: Outgoing;
  readonly checkouts: ShopCheckouts;
  readonly shops: Pick<Shopping, 'merchants'>;
}

export const orders: Feature<{
  settings: OrderSettings;
  serving: OrderServing;
  pages: { readonly publicUrl: () => string };
  working: OrderParts;
  commands: OrderCommandParts;
}> = {
  name: 'orders',
  hooks: [accountClosing.on(eraseAddressesOf), underWay.on(openSalesOf)],
  settings: defineSettings({
    variables: {
      ORDER_ANSWER_SECONDS: z.coerce.number().int().min(1).max(25).default(10),
      ORDER_DEADLINE_SECONDS: z.coerce.number().int().min(30).max(86_400).default(900),
      ORDER_REDEMPTIONS_PER_MINUTE: z.coerce.number().int().min(1).max(1_000_000).default(600),
      ORDER_LAST_DEADLINE_SECONDS: z.coerce.number().int().min(60).max(2_592_000).default(86_400),
    },
    readme: [
      '| `ORDER_ANSWER_SECONDS` | `10` | how long a purchase waits for the shop before it is answered as pending |',
      '| `ORDER_DEADLINE_SECONDS` | `900` | how long a shop may take to take an order; after that all the money comes back, unless the shop may have taken it |',
      '| `ORDER_LAST_DEADLINE_SECONDS` | `86400` | how long after that a shop that may have taken an order has to say so; then the order is void and all the money comes back |',
      '| `ORDER_REDEMPTIONS_PER_MINUTE` | `600` | signed requests a minute of one shop, by its domain |',
    ],
    harmless: [
      'ORDER_ANSWER_SECONDS',
      'ORDER_DEADLINE_SECONDS',
      'ORDER_LAST_DEADLINE_SECONDS',
      'ORDER_REDEMPTIONS_PER_MINUTE',
    ],
    read: (env) => ({
      waitSeconds: env.ORDER_ANSWER_SECONDS,
      validSeconds: env.ORDER_DEADLINE_SECONDS,
      voidSeconds: env.ORDER_LAST_DEADLINE_SECONDS,
      shopPerMinute: env.ORDER_REDEMPTIONS_PER_MINUTE,
    }),
  }),
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
  routes: (parts, settings) => {
    const { db, once, ledger, shops } = parts;
    const decided = createOrderWaits(db, settings.waitSeconds * 1_000);
    return [
      buyRoute({ ...parts, merchants: shops.merchants, ...settings, decided }),
      ...orderRoutes(db),
      cancelRoute({ ...parts, decided }),
      ...saleRoutes({ db, once, ledger }),
      redeemRoute({ ...parts, ...settings }),
    ];
  },
  schedules: ({ db }) => [eraseShippedAddressesSchedule(db)],
  pages: (app, { publicUrl }) => addHandlerPages(app, publicUrl),
};
