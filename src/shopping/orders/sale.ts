import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { userAccount } from '../../ledger/account-id.ts';
import { requirePosted } from '../../ledger/balance-errors.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { type Authority, newPostingId } from '../../ledger/posting.ts';
import { type Amount, toJsonNumber } from '../../money/amount.ts';
import { orderErrors, saleErrors } from './errors.ts';
import { type Order, type OrderRow, selectOrder, toOrder } from './order.ts';
import { refunded } from './postings.ts';
import { describeSale, recordOrderEvent, refundableOf } from './response.ts';

interface RefundRequest {
  readonly orderId: string;
  readonly caller: Caller;
  readonly authority: Authority;
  /** Undefined refunds all that is left. */
  readonly amount: Amount | undefined;
  readonly reason: string | undefined;
}

/** Writes refund, event and posting in the caller's commit. A database constraint refuses more than was paid. */
export async function refundOrder(tx: Transaction, ledger: Ledger, request: RefundRequest) {
  const { orderId, caller, authority, amount, reason } = request;
  const { accountId, keyId } = caller;
  const order = await lockSale(tx, accountId, orderId);
  if (order.accountId === accountId)
    throw orderErrors.own_shop('The buyer is your own account, so there is nothing to refund.');
  const left = refundableOf(order);
  const back = amount ?? left;
  if (back.atomic > left.atomic || left.atomic === 0n) {
    throw saleErrors.refund_too_large(undefined, { members: { refundable: toJsonNumber(left) } });
  }
  const id = newId('rfd');
  const transferId = newPostingId();
  await tx.query('INSERT INTO order_refunds (id, order_id, atomic, reason, transfer_id) VALUES ($1, $2, $3, $4, $5)', [
    id,
    orderId,
    back.atomic,
    reason ?? null,
    transferId,
  ]);
  const after = await findSale(tx, accountId, orderId);
  await recordOrderEvent(tx, 'order.refunded', after, accountId);
  const [posted] = await ledger.postWithin(tx, [
    refunded(order, {
      id,
      transferId,
      amount: back,
      seller: userAccount(accountId, order.asset),
      sellerId: accountId,
      keyId,
      authority,
      reason,
    }),
  ]);
  requirePosted(posted, 'a refund');
  return { refundId: id, transferId, amount: toJsonNumber(back), sale: describeSale(after) };
}

interface Fulfilment {
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

/**
 * SQL: orders that account $1 was paid for, even if the domain has another owner now, and orders paid to its domain before it had
 * an account.
 */
export const soldBy = `o.status = 'completed' AND (o.seller_id = $1 OR (o.seller_id IS NULL AND o.domain IN (
  SELECT c.name FROM claimants c WHERE c.kind = 'domain' AND c.account_id = $1)))`;

/** A sale of this account. Sales of a former or later owner of the same domain are not found. */
export async function findSale(db: Queryable, accountId: bigint, orderId: string): Promise<Order> {
  const { rows } = await db.query<OrderRow>(`${selectOrder} WHERE o.id = $2 AND ${soldBy}`, [accountId, orderId]);
  const [row] = rows;
  if (row === undefined) throw saleErrors.sale_not_found();
  return toOrder(row);
}

/** Locks the order until the caller commits, so that changes to it are serialized. */
async function lockSale(tx: Transaction, accountId: bigint, orderId: string): Promise<Order> {
  await tx.query('SELECT FROM orders WHERE id = $1 FOR UPDATE', [orderId]);
  return findSale(tx, accountId, orderId);
}
