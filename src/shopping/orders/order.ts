import type { ShippingAddress } from '../../accounts/addresses/shipping-address.ts';
import type { Clock } from '../../kernel/clock.ts';
import type { Database, Queryable } from '../../kernel/db/database.ts';
import type { Logger } from '../../kernel/log/logger.ts';
import type { Outgoing } from '../../kernel/outgoing/outgoing.ts';
import type { Parser } from '../../kernel/parser/parser.ts';
import type { Checkpoint } from '../../kernel/sagas/checkpoint.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { type Amount, add, amountOf } from '../../money/amount.ts';
import type { Currency } from '../../money/catalogue.ts';
import type { Checkout, ShopCheckouts } from './checkout.ts';
import type { OrderedProduct } from './choose-product.ts';
import { orderErrors } from './errors.ts';
import type { OrderStatus, PublicStatus } from './saga.ts';

export interface OrderParts {
  readonly db: Database;
  readonly ledger: Ledger;
  readonly checkouts: ShopCheckouts;
  readonly outgoing: Outgoing;
  readonly parser: Parser;
  readonly secrets: Secrets;
  readonly logger: Logger;
  readonly clock: Clock;
  readonly checkpoint?: Checkpoint;
}

/** How an order reaches its shop: over the shop's UCP checkout, or as a signed request to its orders URL. */
export type OrderChannel =
  | { readonly kind: 'ucp'; readonly checkout: Checkout }
  | { readonly kind: 'webhook'; readonly url: string };

export interface Order {
  readonly id: string;
  readonly accountId: bigint;
  /** The key that asked for it. */
  readonly keyId: string | null;
  readonly domain: string;
  /** The domain's owner when the order was opened; null if it had none. */
  readonly merchantId: bigint | null;
  readonly channel: OrderChannel;
  readonly product: Omit<OrderedProduct, 'price'>;
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

export function publicStatus({ status, charged, refunded, fulfilledAt }: Order): PublicStatus {
  if (status === 'placed') return 'pending';
  if (status !== 'completed') return status;
  if (charged !== null && refunded.atomic === charged.amount.atomic) return 'refunded';
  return fulfilledAt === null ? 'completed' : 'fulfilled';
}

/** SQL for `publicStatus`, on a row of `orders o`. */
export const publicStatusSql = `CASE o.status WHEN 'placed' THEN 'pending' WHEN 'completed' THEN
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

export const selectOrder = `SELECT o.id, o.account_id, o.key_id, o.domain, o.merchant_id,
    CASE o.channel WHEN 'ucp' THEN jsonb_build_object('kind', 'ucp', 'checkout', o.checkout)
      ELSE jsonb_build_object('kind', 'webhook', 'url', o.checkout -> 'url') END AS channel,
    jsonb_build_object('title', o.product_title, 'brand', o.product_brand, 'url', o.product_url, 'itemId', o.item_id,
      'variant', o.variant) AS product,
    o.quantity, o.shipping_address, o.asset, o.amount, o.fee, o.transfer_id, o.ask_key, o.cancel_key,
    o.asked_at IS NOT NULL OR o.restored_at IS NOT NULL AS may_have_been_asked, o.expires_at, o.void_at, o.cancel_requested_at, o.status,
    o.charged, o.charged_fee, o.merchant_order_id, o.merchant_url, o.continue_url, o.error, o.error_code, o.created_at, o.finished_at,
    f.fulfilled_at, f.tracking_url,
    (SELECT coalesce(sum(r.atomic), 0) FROM order_refunds r WHERE r.order_id = o.id) AS refunded
  FROM orders o LEFT JOIN order_fulfilments f ON f.order_id = o.id`;

type MoneyField = 'amount' | 'fee' | 'refunded';

/** With money in atomic units of the order's asset. */
export type OrderRow = Omit<Order, MoneyField | 'charged'> &
  Readonly<Record<MoneyField, bigint>> & { readonly charged: bigint | null; readonly chargedFee: bigint | null };

export function toOrder({ charged, chargedFee, ...row }: OrderRow): Order {
  const money = (atomic: bigint) => amountOf(row.asset, atomic);
  return {
    ...row,
    amount: money(row.amount),
    fee: money(row.fee),
    charged: charged === null || chargedFee === null ? null : { amount: money(charged), fee: money(chargedFee) },
    refunded: money(row.refunded),
  };
}
