import type { ShopAnswer } from './checkout.ts';
import { issuedToken } from './credential.ts';
import type { Order } from './order.ts';
import { sendOrder } from './order-webhook.ts';
import type { OrderParts } from './parts.ts';

/** The shop of one order, over UCP or over its orders URL. */
export interface Shop {
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
