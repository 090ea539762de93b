import type { Transaction } from '../../kernel/db/database.ts';
import { recordOrderEvent } from './answer.ts';
import { saleErrors } from './errors.ts';
import type { Order } from './order.ts';
import { findSale, lockSale } from './sale.ts';

export interface Fulfilment {
  readonly orderId: string;
  /** The shop's account. */
  readonly accountId: bigint;
  readonly trackingUrl: string | undefined;
}

export async function fulfilOrder(tx: Transaction, { orderId, accountId, trackingUrl }: Fulfilment): Promise<Order> {
  await lockSale(tx, accountId, orderId);
  const { rowCount } = await tx.query(
    'INSERT INTO order_fulfilments (order_id, tracking_url) VALUES ($1, $2) ON CONFLICT DO NOTHING',
    [orderId, trackingUrl ?? null],
  );
  if (rowCount === 0) throw saleErrors.already_fulfilled();
  const order = await findSale(tx, accountId, orderId);
  await recordOrderEvent(tx, 'order.fulfilled', order, accountId);
  return order;
}
