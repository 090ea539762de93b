import type { ShippingAddress } from '../../accounts/addresses/shipping-address.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { type Amount, add, amountOf } from '../../money/amount.ts';
import type { Currency } from '../../money/catalogue.ts';
import type { Checkout } from './checkout.ts';
import type { OrderedProduct } from './choose-product.ts';
import { orderErrors } from './errors.ts';
import type { OrderStatus, ShownStatus } from './saga.ts';

/** How an order reaches its shop: over the shop's UCP checkout, or as a signed request to its orders URL. */
export type OrderChannel =
  | { readonly kind: 'ucp'; readonly checkout: Checkout }
  | { readonly kind: 'webhook'; readonly url: string };

export interface Order {
  readonly id: string;
  readonly accountId: bigint;
  readonly domain: string;
  /** The domain's owner when the order was opened; null if it had none. */
  readonly merchantId: bigint | null;
  readonly channel: OrderChannel;
  readonly product: {
    readonly title: string;
    readonly brand: string;
    readonly url: string;
    readonly itemId: string;
    readonly variant: OrderedProduct['variant'];
  };
  readonly quantity: number;
  readonly shippingAddress: ShippingAddress;
  readonly asset: Currency;
  /** The shop's total. */
  readonly amount: Amount;
  /** Our fee, on top. */
  readonly fee: Amount;
  readonly transferId: string | null;
  readonly askKey: string;
  readonly cancelKey: string;
  /** Also true after a restore from a backup, which cannot know. */
  readonly mayHaveBeenAsked: boolean;
  /** The shop's deadline to accept the order. */
  readonly expiresAt: Date;
  /**
   * After this the order is void even if the shop may have accepted it. Null for old orders that ended before this deadline
   * existed.
   */
  readonly voidAt: Date | null;
  readonly cancelRequestedAt: Date | null;
  readonly status: OrderStatus;
  /** What the shop was paid, and our fee on that. */
  readonly charged: { readonly amount: Amount; readonly fee: Amount } | null;
  readonly merchantOrderId: string | null;
  readonly merchantUrl: string | null;
  readonly continueUrl: string | null;
  readonly error: string | null;
  readonly errorCode: string | null;
  readonly createdAt: Date;
  readonly finishedAt: Date | null;
  readonly fulfilledAt: Date | null;
  readonly trackingUrl: string | null;
  readonly refunded: Amount;
}

/** What was debited from the buyer's balance. */
export function heldFor({ amount, fee }: Pick<Order, 'amount' | 'fee'>): Amount {
  return add(amount, fee);
}

export function shownStatus({ status, charged, refunded, fulfilledAt }: Order): ShownStatus {
  if (status === 'placed') return 'pending';
  if (status !== 'completed') return status;
  if (charged !== null && refunded.atomic === charged.amount.atomic) return 'refunded';
  return fulfilledAt === null ? 'completed' : 'fulfilled';
}

/** SQL for `shownStatus`, on a row of `orders o`. */
export const shownStatusSql = `CASE o.status WHEN 'placed' THEN 'pending' WHEN 'completed' THEN
    CASE WHEN o.charged = (SELECT sum(r.atomic) FROM order_refunds r WHERE r.order_id = o.id) THEN 'refunded'
         WHEN EXISTS (SELECT FROM order_fulfilments f WHERE f.order_id = o.id) THEN 'fulfilled' ELSE 'completed' END
  ELSE o.status END`;

export async function findOrder(db: Queryable, id: string): Promise<Order | undefined> {
  const { rows } = await db.query<OrderRow>(`${selectOrder} WHERE o.id = $1`, [id]);
  return rows[0] && toOrder(rows[0]);
}

export async function findOwnOrder(db: Queryable, accountId: bigint, id: string): Promise<Order> {
  const order = await findOrder(db, id);
  if (order === undefined || order.accountId !== accountId) throw orderErrors.order_not_found();
  return order;
}

export const selectOrder = `SELECT o.id, o.account_id, o.domain, o.merchant_id, o.channel, o.checkout, o.product_title, o.product_brand,
    o.product_url, o.item_id, o.variant, o.quantity, o.shipping_address, o.asset, o.amount, o.fee, o.transfer_id, o.ask_key, o.cancel_key,
    o.asked_at IS NOT NULL OR o.restored_at IS NOT NULL AS may_have_been_asked, o.expires_at, o.void_at, o.cancel_requested_at, o.status, o.charged, o.charged_fee, o.merchant_order_id, o.merchant_url, o.continue_url,
    o.error, o.error_code, o.created_at, o.finished_at, f.fulfilled_at, f.tracking_url,
    (SELECT coalesce(sum(r.atomic), 0) FROM order_refunds r WHERE r.order_id = o.id) AS refunded
  FROM orders o LEFT JOIN order_fulfilments f ON f.order_id = o.id`;

export interface OrderRow {
  readonly id: string;
  readonly account_id: bigint;
  readonly domain: string;
  readonly merchant_id: bigint | null;
  readonly channel: 'ucp' | 'webhook';
  readonly checkout: Checkout & { readonly url: string };
  readonly product_title: string;
  readonly product_brand: string;
  readonly product_url: string;
  readonly item_id: string;
  readonly variant: OrderedProduct['variant'];
  readonly quantity: number;
  readonly shipping_address: ShippingAddress;
  readonly asset: Currency;
  readonly amount: string;
  readonly fee: string;
  readonly transfer_id: string | null;
  readonly ask_key: string;
  readonly cancel_key: string;
  readonly may_have_been_asked: boolean;
  readonly expires_at: Date;
  readonly void_at: Date | null;
  readonly cancel_requested_at: Date | null;
  readonly status: OrderStatus;
  readonly charged: string | null;
  readonly charged_fee: string | null;
  readonly merchant_order_id: string | null;
  readonly merchant_url: string | null;
  readonly continue_url: string | null;
  readonly error: string | null;
  readonly error_code: string | null;
  readonly created_at: Date;
  readonly finished_at: Date | null;
  readonly fulfilled_at: Date | null;
  readonly tracking_url: string | null;
  readonly refunded: string;
}

export function toOrder(row: OrderRow): Order {
  const money = (atomic: string) => amountOf(row.asset, BigInt(atomic));
  return {
    id: row.id,
    accountId: row.account_id,
    domain: row.domain,
    merchantId: row.merchant_id,
    channel:
      row.channel === 'ucp' ? { kind: 'ucp', checkout: row.checkout } : { kind: 'webhook', url: row.checkout.url },
    product: {
      title: row.product_title,
      brand: row.product_brand,
      url: row.product_url,
      itemId: row.item_id,
      variant: row.variant,
    },
    quantity: row.quantity,
    shippingAddress: row.shipping_address,
    asset: row.asset,
    amount: money(row.amount),
    fee: money(row.fee),
    transferId: row.transfer_id,
    askKey: row.ask_key,
    cancelKey: row.cancel_key,
    mayHaveBeenAsked: row.may_have_been_asked,
    expiresAt: row.expires_at,
    voidAt: row.void_at,
    cancelRequestedAt: row.cancel_requested_at,
    status: row.status,
    charged:
      row.charged === null || row.charged_fee === null
        ? null
        : { amount: money(row.charged), fee: money(row.charged_fee) },
    merchantOrderId: row.merchant_order_id,
    merchantUrl: row.merchant_url,
    continueUrl: row.continue_url,
    error: row.error,
    errorCode: row.error_code,
    createdAt: row.created_at,
    finishedAt: row.finished_at,
    fulfilledAt: row.fulfilled_at,
    trackingUrl: row.tracking_url,
    refunded: money(row.refunded),
  };
}
