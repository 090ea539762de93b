import { z } from 'zod';
import { OutgoingError } from '../../kernel/outgoing/outgoing.ts';
import { ParserError } from '../../kernel/parser/parser.ts';
import { taskOf } from '../../kernel/parser/task.ts';
import { toJsonNumber } from '../../money/amount.ts';
import { signatureHeaders } from '../../webhooks/sign-webhook.ts';
import { bytesOf } from '../search/merchant-site.ts';
import { describeOrderedVariant } from './answer.ts';
import type { ShopAnswer } from './checkout.ts';
import type { Order } from './order.ts';
import { unsealSecretOf } from './order-secret.ts';
import type { OrderParts } from './parts.ts';
import type { readOrderAnswer } from './reading/read-order-answer.ts';
import { safeLink } from './safe-link.ts';
import { shopSays } from './shop-says.ts';

const timeoutMs = 10_000;
const mostBytes = 16_384;
const orderAnswer = taskOf<typeof readOrderAnswer>('readOrderAnswer');

const answerShape = z.discriminatedUnion('status', [
  z.object({ status: z.literal('accepted'), orderId: z.string().optional(), url: z.string().optional() }),
  z.object({ status: z.literal('refused'), reason: z.string().optional() }),
  z.object({ status: z.literal('cancelled') }),
  z.object({ status: z.literal('pending') }),
]);

/**
 * Sends an order or its cancellation to the shop's orders URL, signed like every webhook. The order id makes it idempotent: the
 * shop answers the same each time.
 */
export async function sendOrder(
  { db, outgoing, parser, secrets, clock }: OrderParts,
  order: Order,
  type: 'order.placed' | 'order.cancelled',
): Promise<ShopAnswer> {
  const { id, channel } = order;
  if (channel.kind !== 'webhook') throw new Error(`order ${id} goes to a checkout`);
  const secret = await unsealSecretOf(db, secrets, id);
  if (secret === undefined) return { state: 'unknown', why: 'there is no secret to sign it with' };
  const body = JSON.stringify({ type, ...describeToShop(order) });
  const timestampSeconds = Math.floor(clock.now() / 1_000);
  const messageId = type === 'order.placed' ? id : `${id}.cancelled`;
  try {
    const answer = await outgoing.request({
      method: 'POST',
      url: channel.url,
      headers: {
        'content-type': 'application/json',
        'webhook-id': messageId,
        'webhook-timestamp': String(timestampSeconds),
        ...signatureHeaders(secret, { id: messageId, timestampSeconds, body }),
      },
      body,
      timeoutMs,
      maxBodyBytes: mostBytes,
    });
    const read = answerShape.safeParse(await parser.run(orderAnswer, bytesOf(answer)));
    // Any other response, even a bare 4xx, may come from a proxy and not from the shop.
    if (!read.success) return { state: 'unknown', why: `it answered ${answer.status} without a word about the order` };
    return toAnswer(read.data);
  } catch (error) {
    if (error instanceof OutgoingError || error instanceof ParserError) return { state: 'unknown', why: error.message };
    throw error;
  }
}

function toAnswer(said: z.output<typeof answerShape>): ShopAnswer {
  switch (said.status) {
    case 'accepted':
      return {
        state: 'accepted',
        merchantOrderId: said.orderId,
        url: safeLink(said.url),
      };
    case 'refused':
      return {
        state: 'refused',
        why: 'refused',
        reason: said.reason === undefined ? 'The shop refused it.' : shopSays(said.reason),
      };
    case 'cancelled':
      return { state: 'cancelled' };
    case 'pending':
      return { state: 'in_progress' };
  }
}

function describeToShop(order: Order) {
  const { id, domain, product, quantity, asset, amount, shippingAddress, createdAt, expiresAt, voidAt } = order;
  return {
    orderId: id,
    website: domain,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
    voidAt: voidAt?.toISOString() ?? null,
    product: {
      id: product.itemId,
      title: product.title,
      brand: product.brand,
      url: product.url,
      variant: describeOrderedVariant(order),
    },
    quantity,
    amount: toJsonNumber(amount),
    currency: asset,
    shippingAddress,
  };
}
