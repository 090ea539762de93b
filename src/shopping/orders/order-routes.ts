import { z } from 'zod';
import type { Queryable } from '../../kernel/db/database.ts';
import type { Route } from '../../kernel/http/define-route.ts';
import { findRoute } from '../../kernel/http/find-route.ts';
import { listRoute } from '../../kernel/http/list-route.ts';
import { describeOrder, exampleOrder, orderRecord } from './answer.ts';
import { orderErrors } from './errors.ts';
import { findOwnOrder, type OrderRow, selectOrder, shownStatusSql, toOrder } from './order.ts';
import { type ShownStatus, shownStatuses } from './saga.ts';
import { soldBy } from './sale.ts';

export function orderRoutes(db: Queryable): Route[] {
  return [
    listRoute({
      id: 'listOrders',
      path: '/shopping/orders',
      tag: 'Shopping',
      summary: 'List your orders',
      name: 'orders',
      item: orderRecord,
      example: exampleOrder,
      filters: { status: z.enum(shownStatuses).optional() },
      rows: (query) => listOrders(db, { buyer: query.accountId, ...query }),
      describe: (row) => describeOrder(toOrder(row)),
    }),
    findRoute({
      id: 'getOrder',
      path: '/shopping/orders/:orderId',
      tag: 'Shopping',
      summary: 'Retrieve an order',
      returns: 'The order',
      item: orderRecord,
      example: exampleOrder,
      notFound: orderErrors.order_not_found,
      find: async (id, { accountId }) => describeOrder(await findOwnOrder(db, accountId, id)),
    }),
  ];
}

type OrderQuery = ({ readonly buyer: bigint } | { readonly seller: bigint }) & {
  readonly cursor?: string | undefined;
  readonly status?: ShownStatus | undefined;
  readonly limit: number;
};

/** One more than the page holds. A seller sees only orders that its own shops accepted. */
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
