import { z } from 'zod';
import {
  accountClosing,
  type OnAccountClosing,
  type UnderWayOf,
  underWay,
} from '../../accounts/closing/on-account-closing.ts';
import type { Database, Queryable } from '../../kernel/db/database.ts';
import type { Feature } from '../../kernel/feature.ts';
import { defineJob, handleJob } from '../../kernel/jobs/define-job.ts';
import type { Schedule } from '../../kernel/jobs/worker.ts';
import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';
import { defineSettings } from '../../kernel/settings.ts';
import type { Shopping } from '../search/open-shopping.ts';
import { orderHandler } from './advance-order.ts';
import { createWaitForOrder } from './await-order.ts';
import type { BuyParts } from './buy.ts';
import { buyRoute } from './buy-route.ts';
import type { ShopCheckouts } from './checkout.ts';
import { addOrderCommands, type OrderCommandParts } from './commands.ts';
import { addHandlerPages } from './handler-pages.ts';
import type { OrderParts } from './order.ts';
import { cancelRoute, orderRoutes } from './order-routes.ts';
import { redeemRoute } from './redeem-route.ts';
import { orderEvents, orderPicture, orderSaga } from './saga.ts';
import { type SaleParts, saleRoutes } from './sale-routes.ts';

const job = defineJob({ name: 'erase-shipped-addresses', payload: z.unknown(), maxAttempts: 1 });
const atOnce = 1_000;

/** SQL: a paid order that a shop with an account here has yet to ship. */
const toBeShipped = `(o.status = 'completed' AND o.finished_at > now() - interval '30 days'
  AND (o.seller_id IS NOT NULL OR o.merchant_id IS NOT NULL OR EXISTS (
    SELECT FROM claimants c WHERE c.kind = 'domain' AND c.name = o.domain AND c.account_id IS NOT NULL))
  AND NOT EXISTS (SELECT FROM order_fulfilments f WHERE f.order_id = o.id)
  AND o.charged > (SELECT coalesce(sum(r.atomic), 0) FROM order_refunds r WHERE r.order_id = o.id))`;

/**
 * SQL: erases the addresses of finished orders `o`, except those still to be shipped. The country stays, because it identifies
 * no one. SKIP LOCKED leaves an order that is being refunded to the schedule: the refund waits for the buyer's ledger accounts,
 * which the closing holds.
 */
const erase = (from: string, limit = 'ALL') => `UPDATE orders SET shipping_address = jsonb_build_object(
    'name', 'Erased', 'street', 'Erased', 'city', 'Erased', 'country', shipping_address -> 'country')
  WHERE id = ANY (ARRAY(SELECT o.id FROM ${from} AND o.finished_at IS NOT NULL
    AND NOT o.shipping_address @> '{"name": "Erased", "street": "Erased"}' AND NOT ${toBeShipped} LIMIT ${limit} FOR UPDATE OF o SKIP LOCKED))`;

/** An open order prevents closing the account, so all its orders have ended. */
const eraseAddressesOf: OnAccountClosing = async (tx, accountId) => {
  await tx.query(erase('orders o WHERE o.account_id = $1'), [accountId]);
};

function eraseShippedAddressesSchedule(db: Queryable): Schedule {
  return { at: '41 * * * *', handler: handleJob(job, () => eraseShippedAddresses(db)) };
}

/**
 * Erases addresses that were kept for shipping when the account closed, once the order is shipped, refunded or 30 days old.
 * Accounts that closed over a year ago have none left.
 */
export async function eraseShippedAddresses(db: Queryable): Promise<void> {
  const closed = "(SELECT id FROM accounts WHERE closed_at > now() - interval '1 year') a";
  for (;;) {
    const { rowCount } = await db.query(
      erase(`${closed} JOIN orders o ON o.account_id = a.id WHERE true`, String(atOnce)),
    );
    if ((rowCount ?? 0) < atOnce) return;
  }
}

/** Open orders that may still be paid to this account as the shop. */
const openSalesOf: UnderWayOf = async (tx, accountId) => {
  const { rows } = await tx.query<{ id: string }>(
    'SELECT id FROM orders WHERE merchant_id = $1 AND finished_at IS NULL ORDER BY id LIMIT 100',
    [accountId],
  );
  return rows.map(({ id }) => ({ kind: 'sale', id }));
};

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

interface OrderServing extends OrderParts, Omit<BuyParts, 'merchants'>, SaleParts {
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
    const { db, readDb, once, ledger, consent, shops } = parts;
    const decided = createWaitForOrder(db, own.waitSeconds * 1_000);
    return [
      buyRoute({ ...parts, merchants: shops.merchants, ...own, decided }),
      ...orderRoutes(parts),
      cancelRoute({ ...parts, decided }),
      ...saleRoutes({ db, readDb, once, ledger, consent }),
      redeemRoute({ ...parts, ...own }),
    ];
  },
  schedules: ({ db }) => [eraseShippedAddressesSchedule(db)],
  pages: (app, { publicUrl }) => addHandlerPages(app, publicUrl),
};
