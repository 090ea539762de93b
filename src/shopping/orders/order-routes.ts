import { z } from 'zod';
import type { Database, Queryable, ReadDatabase } from '../../kernel/db/database.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { findRoute } from '../../kernel/http/find-route.ts';
import { listRoute } from '../../kernel/http/list-route.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import type { WaitForOrder } from './await-order.ts';
import { orderErrors } from './errors.ts';
import {
  findOwnOrder,
  type Order,
  type OrderParts,
  type OrderRow,
  publicStatusSql,
  selectOrder,
  toOrder,
} from './order.ts';
import { shopOf } from './order-webhook.ts';
import { describeOrder, exampleOrder, orderRecord } from './response.ts';
import { orderSaga, type PublicStatus, publicStatuses } from './saga.ts';
import { soldBy } from './sale.ts';
import { cancelledByBuyer, releaseOrder } from './settle-order.ts';

interface CancelParts extends OrderParts {
  readonly decided: WaitForOrder;
}

const example = { ...exampleOrder, merchantOrderId: null, merchantUrl: null };
const cancelRequestedAt = '2026-01-15T10:02:00.000Z';

export function cancelRoute(parts: CancelParts): Route {
  return defineRoute(
    {
      id: 'cancelOrder',
      method: 'POST',
      path: '/shopping/orders/:orderId/cancel',
      tag: 'Shopping',
      summary: 'Cancel an order',
      description:
        'Cancels an order that the shop has not accepted. If the shop cannot have accepted it, all the money including the fee is refunded immediately (200). Otherwise the service asks the shop to cancel, and 202 means that the shop has not responded yet. The service keeps asking until the shop cancels, or shows that it accepted the order, which then completes and is paid. At `voidAt` all the money is refunded in any case. Cancelling a failed order returns it unchanged, so the request is safe to retry.',
      auth: 'key',
      scope: 'pay',
      params: z.strictObject({ orderId: z.string().max(64) }),
      examples: { params: { orderId: exampleOrder.orderId } },
      returns: {
        200: {
          description: 'All the money is refunded',
          schema: orderRecord,
          example: { ...example, status: 'failed', error: cancelledByBuyer.reason, errorCode: cancelledByBuyer.code },
        },
        202: {
          description: 'The shop was asked to cancel',
          schema: orderRecord,
          example: { ...example, status: 'pending', finishedAt: null, cancelRequestedAt },
        },
      },
      errors: [orderErrors.order_not_found, orderErrors.order_taken],
    },
    async ({ caller: { accountId }, params: { orderId } }) => {
      await cancelOrder(parts, await findOwnOrder(parts.db, accountId, orderId));
      const order = await findOwnOrder(parts.db, accountId, orderId);
      if (order.status === 'completed') throw orderErrors.order_taken(undefined, { members: { orderId } });
      const body = describeOrder(order);
      return order.status === 'placed' ? { status: 202 as const, body } : ok(body);
    },
  );
}

async function cancelOrder(parts: CancelParts, order: Order): Promise<void> {
  if (order.status !== 'placed') return;
  const came = await releaseOrder(parts, order, cancelledByBuyer, 'unless it may have it');
  if (came === 'released' && order.channel.kind === 'ucp') {
    // A courtesy that releases the shop's stock; the response does not wait for it.
    void shopOf(parts, order)
      .cancel()
      .catch(() => undefined);
  }
  if (came !== 'with_the_shop') return;
  await requestCancel(parts.db, order.id);
  await parts.decided(order.id);
}

/** From this commit on the saga asks the shop to cancel the order instead of accepting it. */
async function requestCancel(db: Database, id: string): Promise<void> {
  await db.transaction(async (tx) => {
    const { rowCount } = await tx.query(
      `UPDATE orders SET cancel_requested_at = coalesce(cancel_requested_at, clock_timestamp()), updated_at = now()
        WHERE id = $1 AND status = 'placed'`,
      [id],
    );
    if (rowCount === 1) await wakeSaga(tx, { saga: orderSaga.name, id, lane: 'shops' });
  });
}

export function orderRoutes({ db, readDb }: { readonly db: Queryable; readonly readDb: ReadDatabase }): Route[] {
  return [
    listRoute({
      id: 'listOrders',
      path: '/shopping/orders',
      tag: 'Shopping',
      summary: 'List your orders',
      name: 'orders',
      item: orderRecord,
      example: exampleOrder,
      filters: { status: z.enum(publicStatuses).optional() },
      rows: (query) => listOrders(readDb, { buyer: query.accountId, ...query }),
      describe: (row) => describeOrder(toOrder(row)),
    }),
    findRoute({
      id: 'getOrder',
      path: '/shopping/orders/:orderId',
      tag: 'Shopping',
      summary: 'Retrieve an order',
      returns: 'The order',
      final: ['completed', 'fulfilled', 'refunded', 'failed', 'needs_buyer'],
      item: orderRecord,
      example: exampleOrder,
      notFound: orderErrors.order_not_found,
      find: async (id, { accountId }) => describeOrder(await findOwnOrder(db, accountId, id)),
    }),
  ];
}

type OrderQuery = ({ readonly buyer: bigint } | { readonly seller: bigint }) & {
  readonly cursor?: string | undefined;
  readonly status?: PublicStatus | undefined;
  readonly limit: number;
};

/** One more than the page holds. A seller sees only orders that its own shops accepted. */
export async function listOrders(db: Queryable, query: OrderQuery): Promise<OrderRow[]> {
  const { cursor, status, limit } = query;
  const [whose, accountId] = 'buyer' in query ? ['o.account_id = $1', query.buyer] : [soldBy, query.seller];
  const { rows } = await db.query<OrderRow>(
    `${selectOrder} WHERE ${whose} AND ($2::text IS NULL OR o.id < $2)
        AND ($3::text IS NULL OR ${publicStatusSql} = $3)
      ORDER BY o.id DESC LIMIT $4`,
    [accountId, cursor ?? null, status ?? null, limit + 1],
  );
  return rows;
}
