import { z } from 'zod';
import type { Queryable } from '../../kernel/db/database.ts';
import { OutgoingError } from '../../kernel/outgoing/outgoing.ts';
import { ParserError } from '../../kernel/parser/parser.ts';
import { taskOf } from '../../kernel/parser/task.ts';
import type { Secrets } from '../../kernel/secrets/secrets.ts';
import { toJsonNumber } from '../../money/amount.ts';
import { signatureHeaders } from '../../webhooks/sign-webhook.ts';
import { bytesOf } from '../search/merchant-site.ts';
import type { ShopAnswer } from './checkout.ts';
import { issuedToken } from './credential.ts';
import type { Order, OrderParts } from './order.ts';
import type { readOrderAnswer } from './reading/read-order-answer.ts';
import { describeOrderedVariant } from './response.ts';
import { quoteShop, safeLink } from './shop-says.ts';

/** The shop of one order, over UCP or over its orders URL. */
interface Shop {
  ask(): Promise<ShopAnswer>;
  look(): Promise<ShopAnswer>;
  cancel(): Promise<ShopAnswer>;
}

export function shopOf(parts: OrderParts, order: Order): Shop {
  const { db, checkouts, secrets } = parts;
  const { id, channel, askKey, cancelKey, expiresAt } = order;
  if (channel.kind === 'webhook') {
    const ask = () => sendOrder(parts, order, 'order.placed');
    // The shop recognizes the order by its id, so sending it again also returns its current state.
    return { ask, look: ask, cancel: () => sendOrder(parts, order, 'order.cancelled') };
  }
  const { checkout } = channel;
  return {
    async ask() {
      const token = await issuedToken(db, secrets, id);
      return checkouts.complete(checkout, { orderId: id, token, expiresAt, key: askKey });
    },
    look: () => checkouts.look(checkout),
    cancel: () => checkouts.cancel(checkout, cancelKey),
  };
}

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
async function sendOrder(
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
      return { state: 'accepted', merchantOrderId: said.orderId, url: safeLink(said.url) };
    case 'refused':
      return {
        state: 'refused',
        why: 'refused',
        reason: said.reason === undefined ? 'The shop refused the order.' : quoteShop(said.reason),
      };
    case 'cancelled':
      return { state: 'cancelled' };
    case 'pending':
      return { state: 'in_progress' };
  }
}

function describeToShop(order: Order) {
  const { id, domain, product, quantity, asset, amount, shippingAddress, createdAt, expiresAt, voidAt } = order;
  const { title, brand, url } = product;
  return {
    orderId: id,
    website: domain,
    createdAt: createdAt.toISOString(),
    expiresAt: expiresAt.toISOString(),
    voidAt: voidAt?.toISOString() ?? null,
    product: { id: product.itemId, title, brand, url, variant: describeOrderedVariant(order) },
    quantity,
    amount: toJsonNumber(amount),
    currency: asset,
    shippingAddress,
  };
}

/**
 * The secret that signs an order: the one of the account that received it. While that account owns the domain, it is the
 * account's current secret; afterwards it is the last one, which the database keeps until the order ends. The secret of a later
 * owner is never used, because the order goes to the earlier owner's URL, who could forward it.
 */
async function unsealSecretOf(
  db: Queryable,
  secrets: Pick<Secrets, 'open'>,
  orderId: string,
): Promise<string | undefined> {
  const { rows } = await db.query<{ sealed: Buffer | null }>(
    `SELECT coalesce(m.sealed_orders_secret, s.sealed) AS sealed
       FROM orders o
       LEFT JOIN merchants m ON m.domain = o.domain AND m.account_id IS NOT DISTINCT FROM o.merchant_id
       LEFT JOIN order_secrets s ON s.order_id = o.id
      WHERE o.id = $1`,
    [orderId],
  );
  const sealed = rows[0]?.sealed ?? null;
  return sealed === null ? undefined : secrets.open('merchant-orders', sealed);
}
