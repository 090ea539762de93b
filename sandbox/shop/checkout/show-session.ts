import {
  handlerName,
  handlerSchemaPath,
  handlerSpecPath,
  handlerVersion,
  instrumentType,
} from '../../../src/shopping/search/payment-handler.ts';
import { picturePath } from '../catalog.ts';
import { json, type ShopReply } from '../message.ts';
import { before, checkoutCapability, fulfillmentCapability, type UcpVersion } from '../ucp-versions.ts';
import type { Desk } from './desk.ts';
import { type Destination, handlerId } from './read-body.ts';
import type { Notice } from './refusal-reply.ts';
import { chosenOption, linePrice, type Session, type SessionLine, shippingOptions, totalsOf } from './session.ts';

/** The status of a checkout and what it lacks. Computed on each request, because stock changes. */
export function assessSession(session: Session, desk: Desk): { status: string; notices: readonly Notice[] } {
  if (session.state === 'completing') return { status: 'complete_in_progress', notices: [] };
  if (session.state !== 'open') return { status: session.state, notices: [] };
  if (session.needsBuyer) return { status: 'requires_escalation', notices: [buyerNeeded] };
  const missing = [...aboutStock(session.lines, desk), ...aboutShipping(session, desk)];
  if (missing.length > 0) return { status: 'incomplete', notices: missing };
  return {
    status: 'ready_for_complete',
    notices: session.paymentRefused === undefined ? [] : [paymentFailed(session.paymentRefused)],
  };
}

const buyerNeeded: Notice = {
  code: 'identity_required',
  content: 'A person has to confirm this order in the shop.',
  severity: 'requires_buyer_input',
};

export function paymentFailed(content: string): Notice {
  return { code: 'payment_failed', content, severity: 'recoverable', path: '$.payment' };
}

function aboutStock(lines: readonly SessionLine[], { shelf }: Desk): readonly Notice[] {
  return lines.flatMap(({ slug, title }, index): readonly Notice[] => {
    const wanted = lines.reduce((sum, line) => sum + (line.slug === slug ? line.quantity : 0), 0);
    const stock = shelf.stockOf(slug);
    if (wanted <= stock) return [];
    const content = stock === 0 ? `${title} is sold out.` : `There are only ${stock} of ${title}.`;
    return [{ code: 'out_of_stock', content, severity: 'recoverable', path: `$.line_items[${index}]` }];
  });
}

const method = '$.fulfillment.methods[0]';

const neededParts = {
  street_address: 'a street',
  address_locality: 'a city',
  postal_code: 'a postal code',
  address_country: 'a country as two letters',
} as const satisfies Partial<Record<keyof Destination, string>>;

function aboutShipping(session: Session, { behaviour }: Desk): readonly Notice[] {
  const { destination, optionId } = session;
  if (destination === undefined) return [ask('address_required', 'Where shall it be sent?', `${method}.destinations`)];
  const lacking: string[] = Object.entries(neededParts)
    .filter(([part]) => (destination[part as keyof Destination] ?? '').trim() === '')
    .map(([, words]) => words);
  if (`${destination.first_name ?? ''}${destination.last_name ?? ''}`.trim() === '') lacking.unshift('a name');
  if (lacking.length > 0) {
    return [ask('address_incomplete', `The address lacks ${lacking.join(', ')}.`, `${method}.destinations[0]`)];
  }
  if (behaviour().refuseAddress || !/^[A-Za-z]{2}$/.test(destination.address_country ?? '')) {
    return [ask('address_undeliverable', 'We do not deliver to this address.', `${method}.destinations[0]`)];
  }
  if (chosenOption(session) !== undefined) return [];
  const content = optionId === undefined ? 'How shall it be sent?' : 'There is no such way to send it.';
  return [ask('option_required', content, `${method}.groups[0].selected_option_id`)];
}

function ask(code: string, content: string, path: string): Notice {
  return { code, content, severity: 'recoverable', path };
}

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
  const assessment = assessSession(session, desk);
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

/** One parcel for everything. Options are listed once the address is complete. */
function showMethod(session: Session, desk: Desk, version: UcpVersion): object {
  const { destination, lines, optionId } = session;
  const everything = lines.map(({ id }) => id);
  const offered = aboutShipping(session, desk).every(({ code }) => code === 'option_required');
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

/** The payment handlers, as listed in the profile and in every checkout. */
export function paymentHandlers({ publicUrl, domain }: Pick<Desk, 'publicUrl' | 'domain'>): object {
  const url = publicUrl();
  // At start the service's URL is not known yet.
  if (url === '') return {};
  return {
    [handlerName(url)]: [
      {
        id: handlerId,
        version: handlerVersion,
        spec: `${url}${handlerSpecPath}`,
        schema: `${url}${handlerSchemaPath}`,
        available_instruments: [{ type: instrumentType }],
        config: { environment: 'sandbox', business: domain },
      },
    ],
  };
}
