import { z } from 'zod';
import type { Transaction } from '../../kernel/db/database.ts';
import { currency } from '../../kernel/http/amount-field.ts';
import { untrusted } from '../../kernel/http/untrusted.ts';
import { recordEvent } from '../../ledger/events.ts';
import { add, toJsonNumber } from '../../money/amount.ts';
import { type Order, publicStatus } from './order.ts';
import { addressRecord } from './read-address.ts';
import { type OrderEvent, publicStatuses } from './saga.ts';

export const orderedVariant = z
  .object({
    id: untrusted.meta({ description: 'The shop’s own identifier.' }),
    title: untrusted,
    options: z.array(z.object({ name: untrusted, value: untrusted })),
  })
  .nullable()
  .meta({ description: 'Null if the product has no variants.' });

export function describeOrderedVariant({ product: { itemId, variant } }: Order): z.input<typeof orderedVariant> {
  return variant === null ? null : { id: itemId, title: variant.title, options: [...variant.options] };
}

/** From the view of the buyer. */
export const orderRecord = z.object({
  orderId: z.string(),
  status: z.enum(publicStatuses),
  website: z.string(),
  productTitle: untrusted,
  productBrand: untrusted,
  productUrl: untrusted,
  variant: orderedVariant,
  quantity: z.number(),
  amount: z.number().meta({ description: 'The total that the shop charges, including shipping and tax.' }),
  fee: z.number().meta({ description: '1.49 % of the amount, added on top.' }),
  total: z.number().meta({ description: '`amount` plus `fee`.' }),
  currency,
  transferId: z.string().nullable().meta({ description: 'The transfer in your history. Null if no money was taken.' }),
  shippingAddress: addressRecord,
  merchantOrderId: untrusted.nullable().meta({ description: 'The shop’s own identifier.' }),
  merchantUrl: untrusted.nullable().meta({ description: 'The order’s page on the shop’s website.' }),
  continueUrl: untrusted
    .nullable()
    .meta({ description: 'Where the buyer completes the order, if the shop requires it.' }),
  trackingUrl: untrusted.nullable(),
  refundedAmount: z.number(),
  error: untrusted
    .nullable()
    .meta({ description: 'Why the order failed. The shop’s own words follow in quotes after "The shop says:".' }),
  errorCode: z.string().nullable(),
  createdAt: z.iso.datetime(),
  voidAt: z.iso.datetime().nullable().meta({
    description: 'The final deadline: if the shop has not accepted the order by then, all the money is refunded.',
  }),
  cancelRequestedAt: z.iso.datetime().nullable().meta({
    description: 'When you requested cancellation from a shop that may already have accepted the order.',
  }),
  finishedAt: z.iso.datetime().nullable(),
  fulfilledAt: z.iso.datetime().nullable(),
});

export type OrderRecord = z.input<typeof orderRecord>;

export const exampleOrder = {
  orderId: 'ord_01kp3v2m8rfk2s6y0e6v9q4w1x',
  status: 'completed',
  website: 'demo-shop.example',
  productTitle: 'Stoneware Mug, Sea',
  productBrand: 'Alder Pottery',
  productUrl: 'http://demo-shop.example/products/stoneware-mug-sea',
  variant: null,
  quantity: 1,
  amount: 24,
  fee: 0.36,
  total: 24.36,
  currency: 'USDC',
  transferId: 'trf_01kp3v2m8rfk2s6y0e6v9q4w1x',
  shippingAddress: {
    name: 'Ada',
    street: '1 Main St',
    postalCode: '94105',
    city: 'San Francisco',
    country: 'US',
  },
  merchantOrderId: 'HH-1001',
  merchantUrl: 'http://demo-shop.example/orders/HH-1001',
  continueUrl: null,
  trackingUrl: null,
  refundedAmount: 0,
  error: null,
  errorCode: null,
  createdAt: '2026-01-15T10:00:00.000Z',
  voidAt: '2026-01-16T10:15:00.000Z',
  cancelRequestedAt: null,
  finishedAt: '2026-01-15T10:00:01.000Z',
  fulfilledAt: null,
} as const satisfies OrderRecord;

export function statusUrlOf(orderId: string, publicUrl: string): string {
  return `${publicUrl}/api/shopping/orders/${orderId}`;
}

/** Shows the charged amount; until the order is charged, the held amount. */
export function describeOrder(order: Order): OrderRecord {
  const { amount, fee } = order.charged ?? order;
  return {
    orderId: order.id,
    status: publicStatus(order),
    website: order.domain,
    productTitle: order.product.title,
    productBrand: order.product.brand,
    productUrl: order.product.url,
    variant: describeOrderedVariant(order),
    quantity: order.quantity,
    amount: toJsonNumber(amount),
    fee: toJsonNumber(fee),
    total: toJsonNumber(add(amount, fee)),
    currency: order.asset,
    transferId: order.transferId,
    shippingAddress: order.shippingAddress,
    merchantOrderId: order.merchantOrderId,
    merchantUrl: order.merchantUrl,
    continueUrl: order.continueUrl,
    trackingUrl: order.trackingUrl,
    refundedAmount: toJsonNumber(order.refunded),
    error: order.error,
    errorCode: order.errorCode,
    createdAt: order.createdAt.toISOString(),
    voidAt: order.voidAt?.toISOString() ?? null,
    cancelRequestedAt: order.cancelRequestedAt?.toISOString() ?? null,
    finishedAt: order.finishedAt?.toISOString() ?? null,
    fulfilledAt: order.fulfilledAt?.toISOString() ?? null,
  };
}

/** From the view of the shop, which must not see what the buyer pays to us. */
export const saleRecord = orderRecord
  .omit({
    fee: true,
    total: true,
    transferId: true,
    continueUrl: true,
    error: true,
    errorCode: true,
    voidAt: true,
    cancelRequestedAt: true,
  })
  .extend({ refundable: z.number().meta({ description: 'The amount that can still be refunded.' }) });

export function describeSale(order: Order): z.input<typeof saleRecord> {
  const { fee, total, transferId, continueUrl, error, errorCode, voidAt, cancelRequestedAt, ...rest } =
    describeOrder(order);
  const refundable = order.charged === null ? 0 : toJsonNumber(refundableOf(order));
  return { ...rest, refundable };
}

export function refundableOf({ charged, refunded, asset }: Order) {
  const paid = charged?.amount.atomic ?? 0n;
  return { asset, atomic: (paid - refunded.atomic) as typeof refunded.atomic };
}

export const exampleSale = (() => {
  const { fee, total, transferId, continueUrl, error, errorCode, voidAt, cancelRequestedAt, ...rest } = exampleOrder;
  return { ...rest, refundable: 24 };
})();

/** Buyer and seller each get the event in their own view. */
export async function recordOrderEvent(
  tx: Transaction,
  type: OrderEvent,
  order: Order,
  sellerId: bigint | undefined,
): Promise<void> {
  await recordEvent(tx, { accountId: order.accountId, type, data: { role: 'buyer', ...describeOrder(order) } });
  if (sellerId !== undefined && sellerId !== order.accountId) {
    await recordEvent(tx, { accountId: sellerId, type, data: { role: 'seller', ...describeSale(order) } });
  }
}
