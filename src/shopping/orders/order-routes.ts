import { z } from 'zod';
import type { Queryable } from '../../kernel/db/database.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { page, pageQuery, toPage } from '../../kernel/http/paging.ts';
import { describeOrder, exampleOrder, orderRecord } from './answer.ts';
import { orderErrors } from './errors.ts';
import { findOwnOrder, type OrderRow, selectOrder, shownStatusSql, toOrder } from './order.ts';
import { type ShownStatus, shownStatuses } from './saga.ts';
import { soldBy } from './sale.ts';

export function orderRoutes(db: Queryable): Route[] {
  return [listRoute(db), findRoute(db)];
}

function listRoute(db: Queryable): Route {
  return defineRoute(
    {
      id: 'listOrders',
      method: 'GET',
      path: '/shopping/orders',
      tag: 'Shopping',
      summary: 'What you have bought',
      auth: 'key',
      scope: 'read',
      query: pageQuery.extend({ status: z.enum(shownStatuses).optional() }),
      returns: {
        200: {
          description: 'Newest first',
          schema: page('orders', orderRecord),
          example: { orders: [exampleOrder], nextCursor: null },
        },
      },
    },
    async ({ caller, query }) => {
      const rows = await listOrders(db, { buyer: caller.accountId, ...query });
      const { items, nextCursor } = toPage(rows, query.limit, (row) => row.id);
      return ok({ orders: items.map((row) => describeOrder(toOrder(row))), nextCursor });
    },
  );
}

function findRoute(db: Queryable): Route {
  return defineRoute(
    {
      id: 'getOrder',
      method: 'GET',
      path: '/shopping/orders/:orderId',
      tag: 'Shopping',
      summary: 'Where an order is',
      auth: 'key',
      scope: 'read',
      params: z.strictObject({ orderId: z.string().max(64) }),
      examples: { params: { orderId: exampleOrder.orderId } },
      returns: { 200: { description: 'The order', schema: orderRecord, example: exampleOrder } },
      errors: [orderErrors.order_not_found],
    },
    async ({ caller, params }) => {
      return ok(describeOrder(await findOwnOrder(db, caller.accountId, params.orderId)));
    },
  );
}

type OrderQuery = ({ readonly buyer: bigint } | { readonly seller: bigint }) & {
  readonly cursor?: string | undefined;
  readonly status?: ShownStatus | undefined;
  readonly limit: number;
};

/** One more than the page holds. A shop sees only what it has taken itself. */
export async function listOrders(db: Queryable, query: OrderQuery): Promise<OrderRow[]> {
  const { cursor, status, limit } = query;
  const [whose, accountId] = 'buyer' in query ? ['o.account_id = $1', query.buyer] : [soldBy, query.seller];
  const { rows } = await db.query<OrderRow>(
    `${selectOrder} WHERE ${whose} AND ($2::text IS NULL OR o.id < $2)
        AND ($3::text IS NULL OR ${shownStatusSql} = $3)
      ORDER BY o.id DESC LIMIT $4`,
    [accountId, cursor ?? null, status ?? null, limit + 1],
  );
  return rows;
}
