import { z } from 'zod';
import type { Database } from '../../kernel/db/database.ts';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import { describeOrder, exampleOrder, orderRecord } from './answer.ts';
import type { OrderWaits } from './await-order.ts';
import { orderErrors } from './errors.ts';
import { findOwnOrder, type Order } from './order.ts';
import { shopOf } from './order-channel.ts';
import type { OrderParts } from './parts.ts';
import { orderSaga } from './saga.ts';
import { cancelledByBuyer, releaseOrder } from './settle-order.ts';

export interface CancelParts extends OrderParts {
  readonly decided: OrderWaits;
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
