import { createHash, randomUUID } from 'node:crypto';
import { normalizeAddress, type ShippingAddress } from '../../accounts/addresses/shipping-address.ts';
import { countToday } from '../../kernel/daily-caps/count-today.ts';
import type { Queryable, Transaction } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { type Repeated, repeatedSince } from '../../kernel/http/duplicate-guard.ts';
import { newId } from '../../kernel/ids/ids.ts';
import { wakeSaga } from '../../kernel/sagas/wake-saga.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { type Authority, newPostingId, type Outcome } from '../../ledger/posting.ts';
import type { CheckoutTotal } from './checkout.ts';
import type { OrderedProduct } from './choose-product.ts';
import { issueCredential, newCredentialToken } from './credential.ts';
import { requireSameMerchant } from './gate.ts';
import { type Order, type OrderRow, publicStatus, selectOrder, toOrder } from './order.ts';
import { held } from './postings.ts';
import { statusUrlOf } from './response.ts';
import { orderSaga } from './saga.ts';

/** A hash of what makes two purchases probable duplicates. */
export function duplicateHash(
  domain: string,
  { itemId, quantity }: { readonly itemId: string; readonly quantity: number },
  address: ShippingAddress,
): Buffer {
  // Keeps the hash of orders from before quantities existed.
  const item = quantity === 1 ? [itemId] : [itemId, quantity];
  return createHash('sha256')
    .update(JSON.stringify([domain, ...item, normalizeAddress(address)]))
    .digest();
}

/**
 * The newest order like this one, whatever its total. While an order is open, it always counts; one that failed, was refunded or needs
 * the buyer can be repeated at once.
 */
export async function newestLike(
  db: Queryable,
  { accountId, likeness }: Pick<NewOrder, 'accountId' | 'likeness'>,
  publicUrl: string,
): Promise<Repeated | undefined> {
  const { rows } = await db.query<OrderRow>(
    `${selectOrder} WHERE o.account_id = $1 AND o.likeness = $2
        AND (o.status = 'placed' OR (o.status = 'completed' AND o.finished_at > ${repeatedSince}))
      ORDER BY o.created_at DESC, o.id DESC`,
    [accountId, likeness],
  );
  const order = rows.map(toOrder).find((found) => publicStatus(found) !== 'refunded');
  if (order === undefined) return undefined;
  const { id, createdAt } = order;
  const status = publicStatus(order);
  const statusUrl = statusUrlOf(id, publicUrl);
  return {
    id,
    status,
    createdAt,
    detail: `An order for the same product to the same address is open or was completed less than ten minutes ago: ${id}, see ${statusUrl}. Nothing was charged. To order again on purpose, send that id as notDuplicateOf.`,
    members: { orderId: id, orderStatus: status, statusUrl },
  };
}

type SameAsOrder = 'accountId' | 'domain' | 'merchantId' | 'channel' | 'quantity' | 'asset' | 'amount' | 'fee';

export interface NewOrder extends Pick<Order, SameAsOrder> {
  readonly product: OrderedProduct;
  readonly address: ShippingAddress;
  readonly likeness: Buffer;
  readonly total: CheckoutTotal;
}

export interface OpenOptions {
  readonly ledger: Ledger;
  readonly secrets: Secrets;
  readonly keyId: string;
  readonly authority: Authority;
  /** How long the shop has to accept the order. */
  readonly validSeconds: number;
  /** How long after that a shop that may have accepted the order has to confirm it. */
  readonly voidSeconds: number;
}

/** Writes order, credential, job and posting in the caller's commit, which sets the money aside for this shop. */
export async function openOrder(
  tx: Transaction,
  { ledger, secrets, keyId, authority, validSeconds, voidSeconds }: OpenOptions,
  order: NewOrder,
): Promise<{ readonly id: string; readonly outcome: Outcome }> {
  await requireSameMerchant(tx, order);
  const id = newId('ord');
  const transferId = newPostingId();
  await insertOrder(tx, id, { ...order, keyId, status: 'placed', transferId, validSeconds, voidSeconds });
  if (order.channel.kind === 'ucp') {
    await issueCredential(tx, {
      orderId: id,
      token: newCredentialToken(secrets, id),
      domain: order.domain,
      checkoutId: order.channel.checkout.id,
      total: order.total,
    });
  }
  await wakeSaga(tx, { saga: orderSaga.name, id, lane: 'shops' });
  const [posted] = await ledger.postWithin(tx, [held({ id, ...order }, { transferId, keyId, authority })]);
  if (posted === undefined) throw new Error('the ledger gave no outcome');
  return { id, outcome: posted };
}

/** The shop wants the buyer to continue on its own pages before payment. No money is set aside; the order records the URL. */
export async function recordHandedOver(
  tx: Transaction,
  caller: Caller,
  { continueUrl, ...order }: NewOrder & { readonly continueUrl: string },
): Promise<string> {
  await countToday(tx, caller, 'handedOverOrders');
  const id = newId('ord');
  const ended = { status: 'needs_buyer', transferId: null, validSeconds: 0, voidSeconds: 0 } as const;
  await insertOrder(tx, id, { ...order, keyId: caller.keyId, ...ended, continueUrl });
  return id;
}

interface OrderToInsert extends NewOrder {
  readonly keyId: string;
  readonly status: 'placed' | 'needs_buyer';
  readonly transferId: string | null;
  readonly validSeconds: number;
  readonly voidSeconds: number;
  readonly continueUrl?: string;
}

async function insertOrder(tx: Transaction, id: string, order: OrderToInsert): Promise<void> {
  const { channel, product, status } = order;
  await tx.query(
    `INSERT INTO orders (id, account_id, domain, channel, checkout, product_title, product_brand, product_url, item_id,
        shipping_address, likeness, asset, amount, fee, transfer_id, ask_key, cancel_key, expires_at, status, continue_url,
        finished_at, merchant_id, void_at, variant, quantity, key_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17,
        clock_timestamp() + make_interval(secs => $18), $19, $20, CASE WHEN $19 = 'placed' THEN NULL ELSE clock_timestamp() END, $21,
        clock_timestamp() + make_interval(secs => $18) + make_interval(secs => $22), $23, $24, $25)`,
    [
      id,
      order.accountId,
      order.domain,
      channel.kind,
      JSON.stringify(channel.kind === 'ucp' ? channel.checkout : { url: channel.url }),
      product.title,
      product.brand,
      product.url,
      product.itemId,
      JSON.stringify(order.address),
      order.likeness,
      order.asset,
      order.amount.atomic,
      order.fee.atomic,
      order.transferId,
      randomUUID(),
      randomUUID(),
      order.validSeconds,
      status,
      order.continueUrl ?? null,
      order.merchantId,
      order.voidSeconds,
      product.variant && JSON.stringify(product.variant),
      order.quantity,
      order.keyId,
    ],
  );
}
