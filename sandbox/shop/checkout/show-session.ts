import { json, type ShopReply } from '../message.ts';
import { picturePath } from '../product-links.ts';
import { before, checkoutCapability, fulfillmentCapability, type UcpVersion } from '../ucp-versions.ts';
import { assessSession, isDeliverable } from './assess-session.ts';
import type { Desk } from './desk.ts';
import { paymentHandlers } from './payment-handlers.ts';
import { linePrice, shippingOptions, totalsOf } from './price-session.ts';
import type { Notice, Session } from './session.ts';

interface ShowOptions {
  readonly origin: string;
  readonly status?: number;
  /** Messages in addition to those that follow from the checkout. */
  readonly notices?: readonly Notice[];
}

/** A checkout as UCP describes it. The two versions differ slightly. */
export function showSession(
  session: Session,
  desk: Desk,
  { origin, status = 200, notices = [] }: ShowOptions,
): ShopReply {
  const { version } = session;
  const assessment = assessSession(session, circumstancesOf(desk));
  const messages = [...notices, ...assessment.notices].map((notice) => ({ type: 'error', ...notice }));
  const final = session.state === 'completed' || session.state === 'canceled';
  const checkout = {
    ucp: {
      version,
      status: 'success',
      capabilities: { [checkoutCapability]: [{ version }], [fulfillmentCapability]: [{ version }] },
      payment_handlers: paymentHandlers(desk),
    },
    id: session.id,
    status: assessment.status,
    currency: session.currency,
    line_items: session.lines.map((line) => ({
      id: line.id,
      item: { id: line.itemId, title: line.title, price: line.cents, image_url: `${origin}${picturePath(line)}` },
      quantity: line.quantity,
      totals: [
        { type: 'subtotal', amount: linePrice(line) },
        { type: 'total', amount: linePrice(line) },
      ],
    })),
    ...(session.buyer !== undefined && { buyer: session.buyer }),
    fulfillment: { methods: [showMethod(session, desk, version)] },
    totals: totalsOf(session),
    ...(messages.length > 0 && { messages }),
    links: [
      { type: 'privacy_policy', url: `${origin}/privacy`, title: 'Privacy' },
      { type: 'terms_of_service', url: `${origin}/terms`, title: 'Terms' },
    ],
    expires_at: new Date(session.expiresAt).toISOString(),
    ...(!final && { continue_url: `${origin}/checkout/${session.id}` }),
    ...(session.orderId !== undefined && {
      order: {
        id: session.orderId,
        label: `Order ${session.orderId}`,
        permalink_url: `${origin}/orders/${session.orderId}`,
      },
    }),
  };
  return json(checkout, { status });
}

export function circumstancesOf({ shelf, behaviour }: Desk) {
  return { stockOf: shelf.stockOf, refuseAddress: behaviour().refuseAddress };
}

/** One parcel for everything. Options are listed once the address is complete. */
function showMethod(session: Session, desk: Desk, version: UcpVersion): object {
  const { destination, lines, optionId } = session;
  const everything = lines.map(({ id }) => id);
  const offered = destination !== undefined && isDeliverable(session, circumstancesOf(desk));
  return {
    id: 'shipping',
    type: 'shipping',
    line_item_ids: everything,
    destinations:
      destination === undefined
        ? []
        : [version === before ? destination : { type: 'shipping_address', ...destination }],
    selected_destination_id: destination?.id ?? null,
    groups: offered
      ? [
          {
            id: 'parcel',
            line_item_ids: everything,
            options: shippingOptions(lines).map(({ id, title, description, cents }) => ({
              id,
              title,
              description: version === before ? description : { plain: description },
              totals: [
                { type: 'fulfillment', amount: cents },
                { type: 'total', amount: cents },
              ],
            })),
            selected_option_id: optionId ?? null,
          },
        ]
      : [],
  };
}
