import type { Queryable, Transaction } from '../db/database.ts';
import { merchantsOf } from '../merchants/find-merchant.ts';
import { saleErrors } from './errors.ts';
import { findOrder, type Order } from './order.ts';

/** An order that a shop of this account has taken; what others have sold is not there. */
export async function findSale(db: Queryable, accountId: bigint, orderId: string): Promise<Order> {
  const order = await findOrder(db, orderId);
  if (order === undefined || order.status !== 'completed') throw saleErrors.sale_not_found();
  if (!(await merchantsOf(db, accountId)).includes(order.domain)) throw saleErrors.sale_not_found();
  return order;
}

/** The same, held until the caller's commit, so that two changes of it come one after the other. */
export async function lockSale(tx: Transaction, accountId: bigint, orderId: string): Promise<Order> {
  await tx.query('SELECT FROM orders WHERE id = $1 FOR UPDATE', [orderId]);
  return findSale(tx, accountId, orderId);
}
