import { z } from 'zod';
import { dailyCapErrors } from '../../kernel/daily-caps/count-today.ts';
import { currency } from '../../kernel/http/amount-field.ts';
import { type Caller, defineRoute, type IdempotencyClaim, ok, type Route } from '../../kernel/http/define-route.ts';
import { guardErrors, refuseDuplicate } from '../../kernel/http/duplicate-guard.ts';
import { httpErrors } from '../../kernel/http/errors.ts';
import { Problem } from '../../kernel/http/problem.ts';
import { moves } from '../../kernel/http/tool.ts';
import { untrusted } from '../../kernel/http/untrusted.ts';
import { type Checkpoint, noCheckpoint } from '../../kernel/sagas/checkpoint.ts';
import { requirePosted } from '../../ledger/balance-errors.ts';
import { findKey, type RunOnce } from '../../ledger/idempotency.ts';
import type { Authority } from '../../ledger/posting.ts';
import { askedOwner } from '../../policies/approvals/asks.ts';
import type { Consent } from '../../policies/consent.ts';
import { paymentRefusals } from '../../policies/refusals.ts';
import type { WaitForOrder } from './await-order.ts';
import { type BuyParts, type PreparedOrder, type Purchase, prepareOrder, refuseUnfunded } from './buy.ts';
import { orderErrors } from './errors.ts';
import { newestLike, openOrder, recordHandedOver } from './open-order.ts';
import { findOrder, type Order } from './order.ts';
import { describeOrder, exampleOrder, orderedVariant, statusUrlOf } from './response.ts';
import { buyBody, orderRefusals, paymentFor, readWanted } from './way.ts';

export interface BuyRouteParts extends BuyParts {
  readonly once: RunOnce;
  readonly consent: Consent;
  readonly checkpoint?: Checkpoint;
  /** How long the shop has to accept an order. */
  readonly validSeconds: number;
  /** How long after that a shop that may have accepted the order has to confirm it. */
  readonly voidSeconds: number;
  /** Waits for the shop before the response says `pending`. */
  readonly decided: WaitForOrder;
}

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

export function buyRoute(parts: BuyRouteParts): Route {
  const { outgoing, checkpoint = noCheckpoint, decided } = parts;
  return defineRoute(
    {
      id: 'buyProduct',
      method: 'POST',
      path: '/shopping/buy',
      tag: 'Shopping',
      summary: 'Buy a product',
      tool: { name: 'buy_product', title: 'Buy a product', hints: { ...moves, openWorld: true } },
      description:
        'Buys from a shop that has enabled orders. The money is held and paid when the shop accepts the order; otherwise all of it is refunded. 202 means that the shop has not responded yet: poll `statusUrl`, register a webhook for `order.completed` and `order.failed`, or cancel the order. Send an Idempotency-Key, so that a retry after a lost connection never buys twice. An order for the same product to the same address under another key is always refused with `possible_duplicate`, while the first order is open and for ten minutes after it completes.',
      auth: 'key',
      scope: 'pay',
      body: buyBody,
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
      guarded: true,
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
      asks: askedOwner,
      errors: [...orderRefusals, dailyCapErrors.daily_cap_reached, ...paymentRefusals],
    },
    async ({ caller, ip, body: asked, idempotency }) => {
      const wanted = readWanted(outgoing, asked);
      const again = await wasAsked(parts, caller, idempotency);
      const prepared = again ? undefined : await prepareUnlessAsked(parts, { ...wanted, caller, ip }, idempotency);
      const authority = prepared && (await askConsent(parts, caller, prepared));
      const placed = await place(parts, {
        caller,
        idempotency,
        prepared: prepared && { ...prepared, authority },
        notDuplicateOf: asked.notDuplicateOf,
      });
      checkpoint('order.opened');
      await decided(placed.orderId);
      const answer = toAnswer(await found(parts, placed.orderId), parts.publicUrl());
      return placed.replayed ? { ...answer, replayed: true } : answer;
    },
  );
}

/** Undefined when the shop sends the buyer to its own pages: then nothing is paid here. */
async function askConsent(
  parts: BuyRouteParts,
  caller: Caller,
  prepared: PreparedOrder,
): Promise<Authority | undefined> {
  if (prepared.continueUrl !== undefined) return undefined;
  const authority = await parts.consent.forPayment(caller, paymentFor(prepared));
  // A budget that does not cover it is reported before the balance, and only the ledger knows.
  if (authority.spends.length === 0) await refuseUnfunded(parts, prepared);
  return authority;
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

/** Undefined when a request with the same key has placed the order meanwhile: an order is no duplicate of itself. */
async function prepareUnlessAsked(
  parts: BuyRouteParts,
  purchase: Purchase,
  claim: IdempotencyClaim | undefined,
): Promise<PreparedOrder | undefined> {
  try {
    return await prepareOrder(parts, purchase);
  } catch (error) {
    const isDuplicate = error instanceof Problem && error.code === guardErrors.possible_duplicate.code;
    if (isDuplicate && (await wasAsked(parts, purchase.caller, claim))) return undefined;
    throw error;
  }
}

interface Placing {
  readonly caller: Caller;
  readonly idempotency: IdempotencyClaim | undefined;
  readonly prepared: (PreparedOrder & { readonly authority: Authority | undefined }) | undefined;
  readonly notDuplicateOf: string | undefined;
}

/** One commit with the order and its posting; an idempotent replay returns the earlier order. */
async function place(parts: BuyRouteParts, { caller, idempotency, prepared, notDuplicateOf }: Placing) {
  const { once, ledger, secrets, validSeconds, voidSeconds } = parts;
  const { accountId, keyId } = caller;
  const kept = await once({ caller, idempotency, kind: 'orders' }, async (tx) => {
    if (prepared === undefined) throw new Error('an order that was placed is not there');
    // Orders are always guarded.
    const guard = { notDuplicateOf };
    await refuseDuplicate(tx, { guard, accountId }, (db) => newestLike(db, prepared, parts.publicUrl()));
    const { continueUrl, authority } = prepared;
    if (continueUrl !== undefined) {
      return { status: 200, body: { orderId: await recordHandedOver(tx, caller, { ...prepared, continueUrl }) } };
    }
    if (authority === undefined) throw new Error('nobody consented to an order');
    const options = { ledger, secrets, keyId, authority, validSeconds, voidSeconds };
    const { id, outcome } = await openOrder(tx, options, prepared);
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
