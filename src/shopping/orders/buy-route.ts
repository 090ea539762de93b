import { z } from 'zod';
import { shippingAddress, visibleText } from '../../accounts/fields.ts';
import { dailyCapErrors } from '../../kernel/daily-caps/count-today.ts';
import { amountField, currency, requireAmount } from '../../kernel/http/amount-field.ts';
import { type Caller, defineRoute, type IdempotencyClaim, ok, type Route } from '../../kernel/http/define-route.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import type { ErrorKind } from '../../kernel/http/problem.ts';
import { untrusted } from '../../kernel/http/untrusted.ts';
import { type Checkpoint, noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { balanceErrors, requirePosted } from '../../ledger/balance-errors.ts';
import { findKey, type RunOnce } from '../../ledger/idempotency.ts';
import { shoppingErrors } from '../search/errors.ts';
import { website, websiteOrRefuse } from '../search/search-shop.ts';
import type { WaitForOrder } from './await-order.ts';
import { type BuyParts, type PreparedOrder, prepareOrder } from './buy.ts';
import { orderErrors } from './errors.ts';
import { lockPurchases, openOrder, recordHandedOver, refuseDuplicate } from './open-order.ts';
import { findOrder, type Order } from './order.ts';
import { addressParts } from './read-address.ts';
import { describeOrder, exampleOrder, orderedVariant, statusUrlOf } from './response.ts';

export interface BuyRouteParts extends BuyParts {
  readonly once: RunOnce;
  readonly checkpoint?: Checkpoint;
  /** How long the shop has to accept an order. */
  readonly validSeconds: number;
  /** How long after that a shop that may have accepted the order has to confirm it. */
  readonly voidSeconds: number;
  /** Waits for the shop before the response says `pending`. */
  readonly decided: WaitForOrder;
}

const body = z.strictObject({
  website,
  productTitle: visibleText(500).meta({
    description:
      'As returned by the search. Case, punctuation and word order do not matter as long as exactly one product matches. A variant name may follow, as in "Linen Shirt L".',
  }),
  productBrand: visibleText(200).optional().meta({ description: 'As returned by the search.' }),
  productUrl: z
    .url()
    .max(2_000)
    .optional()
    .meta({ description: 'As returned by the search. Required only if title and brand match several products.' }),
  productVariant: visibleText(200).optional().meta({
    description:
      'The id or title of a variant that the search lists, or its options, such as "L" or "Size: L, Color: Blue". Required if there are several variants.',
  }),
  quantity: z
    .int({ error: 'must be a whole number' })
    .min(1, 'must be from 1 to 100')
    .max(100, 'must be from 1 to 100')
    .optional()
    .meta({ description: 'The number of items. The default is 1.' }),
  amount: amountField.meta({
    description:
      'A number or decimal string: the most that may be charged including shipping and tax, before our fee. You are charged what the shop asks, never more than this.',
  }),
  paymentMethod: z.enum(['usdc', 'eurc'], { error: 'must be "usdc" or "eurc"' }),
  shippingAddress: z.union([shippingAddress, addressParts]).optional().meta({
    description:
      'For this order only; defaults to the address of your account. Text on one or more lines, or an object. Without a name, your account name is used. Text may omit the country if region and postal code imply it.',
  }),
  notDuplicateOf: z
    .string()
    .max(64)
    .optional()
    .meta({ description: 'The id of an earlier, similar order, to confirm that this order is not a duplicate of it.' }),
});

const { orderId, transferId, productTitle, variant, quantity, amount, fee, total } = exampleOrder;
const bought = z.object({
  success: z.boolean(),
  orderId: z.string(),
  transferId: z.string(),
  productTitle: untrusted.meta({ description: 'As the shop names it.' }),
  variant: orderedVariant,
  quantity: z.number(),
  amount: z.number().meta({ description: 'The total that the shop charged.' }),
  fee: z.number(),
  total: z.number().meta({ description: '`amount` plus `fee`: what was taken from your balance.' }),
  currency,
  status: z.enum(['completed', 'pending']),
});
const example = {
  success: true,
  orderId,
  transferId,
  productTitle,
  variant,
  quantity,
  amount,
  fee,
  total,
  currency: 'USDC' as const,
};

/** These errors concern existing orders only. */
const ofPlacedOrders: readonly ErrorKind[] = [orderErrors.order_not_found, orderErrors.order_taken];

export function buyRoute(parts: BuyRouteParts): Route {
  const { outgoing, checkpoint = noCheckpoint, decided } = parts;
  return defineRoute(
    {
      id: 'buyProduct',
      method: 'POST',
      path: '/shopping/buy',
      tag: 'Shopping',
      summary: 'Buy a product',
      description:
        'Buys from a shop that has enabled orders. The money is held and paid when the shop accepts the order; otherwise all of it is refunded. 202 means that the shop has not responded yet: poll `statusUrl`, register a webhook for `order.completed` and `order.failed`, or cancel the order. Send an Idempotency-Key, so that a retry after a lost connection never buys twice. Without one, an order for the same product to the same address is refused with `possible_duplicate` while the first order is open and for one minute after it completes.',
      auth: 'key',
      scope: 'pay',
      body,
      examples: {
        body: {
          website: 'demo-shop.example',
          productTitle: 'Stoneware Mug, Sea',
          productBrand: 'Alder Pottery',
          amount: 24,
          paymentMethod: 'usdc',
          shippingAddress: 'Ada, 1 Main St, 94105 San Francisco, US',
        },
      },
      idempotent: true,
      returns: {
        200: { description: 'The order is complete', schema: bought, example: { ...example, status: 'completed' } },
        202: {
          description: 'The shop has not responded yet',
          schema: bought.extend({
            statusUrl: z.string().meta({ description: 'Poll this URL for the status of the order.' }),
          }),
          example: {
            ...example,
            success: false,
            status: 'pending',
            statusUrl: statusUrlOf(orderId, 'https://pay.example.com'),
          },
        },
      },
      errors: [
        ...Object.values(orderErrors).filter((error) => !ofPlacedOrders.includes(error)),
        shoppingErrors.merchant_unreachable,
        shoppingErrors.merchant_too_slow,
        shoppingErrors.merchant_unsupported,
        balanceErrors.insufficient_balance,
        dailyCapErrors.daily_cap_reached,
        balanceErrors.account_frozen,
      ],
    },
    async ({ caller, ip, body: asked, idempotency }) => {
      const asset = asked.paymentMethod === 'usdc' ? 'USDC' : 'EURC';
      const most = requireAmount(asset, asked.amount);
      const site = websiteOrRefuse(asked.website, outgoing);
      const again = await wasAsked(parts, caller, idempotency);
      const prepared = again
        ? undefined
        : await prepareOrder(parts, {
            caller,
            ip,
            website: site,
            product: {
              title: asked.productTitle,
              brand: asked.productBrand,
              url: asked.productUrl,
              variant: asked.productVariant,
            },
            quantity: asked.quantity ?? 1,
            most,
            asset,
            shippingAddress: asked.shippingAddress,
            notDuplicateOf: asked.notDuplicateOf,
          });
      const placed = await place(parts, { caller, idempotency, prepared, notDuplicateOf: asked.notDuplicateOf });
      checkpoint('order.opened');
      await decided(placed.orderId);
      const answer = toAnswer(await found(parts, placed.orderId), parts.publicUrl());
      return placed.replayed ? { ...answer, replayed: true } : answer;
    },
  );
}

/** Whether this key already has an order. Then the shop is not asked again. */
async function wasAsked(
  { db }: BuyRouteParts,
  { accountId }: Caller,
  claim: IdempotencyClaim | undefined,
): Promise<boolean> {
  if (claim === undefined) return false;
  const { holder } = await findKey(db, { accountId, ...claim });
  if (holder === 'another') throw httpErrors.idempotency_mismatch();
  return holder === 'this';
}

interface Placing {
  readonly caller: Caller;
  readonly idempotency: IdempotencyClaim | undefined;
  readonly prepared: PreparedOrder | undefined;
  readonly notDuplicateOf: string | undefined;
}

/** One commit with the order and its posting; an idempotent replay returns the earlier order. */
async function place(parts: BuyRouteParts, { caller, idempotency, prepared, notDuplicateOf }: Placing) {
  const { once, ledger, secrets, validSeconds, voidSeconds } = parts;
  const { accountId, keyId } = caller;
  const kept = await once({ caller, idempotency, kind: 'orders' }, async (tx) => {
    if (prepared === undefined) throw new Error('an order that was placed is not there');
    await lockPurchases(tx, accountId);
    await refuseDuplicate(tx, {
      accountId,
      likeness: prepared.likeness,
      notDuplicateOf,
      publicUrl: parts.publicUrl(),
    });
    const { continueUrl } = prepared;
    if (continueUrl !== undefined) {
      return { status: 200, body: { orderId: await recordHandedOver(tx, caller, { ...prepared, continueUrl }) } };
    }
    const { id, outcome } = await openOrder(tx, { ledger, secrets, keyId, validSeconds, voidSeconds }, prepared);
    requirePosted(outcome, 'a new order');
    return { status: 200, body: { orderId: id } };
  });
  return { orderId: kept.body.orderId, replayed: 'replayed' in kept };
}

async function found({ db }: BuyRouteParts, id: string): Promise<Order> {
  const order = await findOrder(db, id);
  if (order === undefined) throw new Error(`order ${id} is gone`);
  return order;
}

function toAnswer(order: Order, publicUrl: string) {
  const { id, continueUrl } = order;
  if (order.status === 'needs_buyer')
    throw orderErrors.needs_buyer(undefined, { members: { orderId: id, continueUrl } });
  if (order.status === 'failed') throw failure(order);
  // The response schema drops the other fields of the record.
  const answer = { ...describeOrder(order), transferId: order.transferId ?? '' };
  if (order.status === 'placed') {
    const statusUrl = statusUrlOf(id, publicUrl);
    return { status: 202 as const, body: { ...answer, success: false, status: 'pending' as const, statusUrl } };
  }
  return ok({ ...answer, success: true, status: 'completed' as const });
}

function failure({ id, error, errorCode }: Order) {
  const members = { orderId: id, orderStatus: 'failed' };
  const detail = `${error ?? 'The shop did not accept the order.'} All the money is back in your balance.`;
  if (errorCode === 'sold_out') return orderErrors.sold_out(detail, { members });
  if (errorCode === 'address_refused') return orderErrors.address_refused(detail, { members });
  return orderErrors.order_failed(detail, { members: { ...members, reason: errorCode } });
}
