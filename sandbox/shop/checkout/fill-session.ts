import type { Desk } from './desk.ts';
import type { Contents } from './read-body.ts';
import { noSession } from './refusal-reply.ts';
import type { Notice, Session, SessionLine } from './session.ts';

/** Replaces the whole content of a checkout, at current prices. Used by create and update. */
export function fillSession(
  session: Pick<Session, 'id' | 'version' | 'expiresAt' | 'destination'>,
  contents: Contents,
  { shelf, behaviour }: Desk,
): { readonly session: Session; readonly notices: readonly Notice[] } {
  const { id, version, expiresAt } = session;
  const products = contents.lines.map(({ itemId }, index) => {
    const product = shelf.find(itemId);
    if (product !== undefined) return product;
    const content = 'There is no such thing in this shop.';
    throw noSession(version, unavailable(content, index));
  });
  const [first] = products;
  const currency = first?.currency ?? 'USD';
  const other = products.findIndex((product) => product.currency !== currency);
  if (other > 0) throw noSession(version, unavailable('It has a price in another currency than the rest.', other));

  const lines = contents.lines.map((line, index): SessionLine => {
    const { slug = '', title = '', cents = 0, shippingCents = 0 } = products[index] ?? {};
    return { ...line, slug, title, cents, shippingCents };
  });
  return {
    session: {
      id,
      version,
      expiresAt,
      state: 'open',
      currency,
      lines,
      buyer: contents.buyer,
      destination: chooseDestination(contents, session.destination),
      optionId: contents.optionId,
      needsBuyer: behaviour().askForBuyer === 'create',
    },
    notices: contents.pickup ? [noPickup] : [],
  };
}

const noPickup: Notice = {
  code: 'fulfillment_unavailable',
  content: 'Nothing can be picked up here; it is sent.',
  severity: 'recoverable',
  path: '$.fulfillment.methods[0].type',
};

function unavailable(content: string, index: number): Notice {
  return { code: 'item_unavailable', content, severity: 'unrecoverable', path: `$.line_items[${index}]` };
}

/** The selected destination, the only one sent, or the known one with this id. */
function chooseDestination({ destinations = [], destinationId }: Contents, known: Session['destination']) {
  if (destinationId === undefined) return destinations.length === 1 ? destinations[0] : undefined;
  return destinations.find(({ id }) => id === destinationId) ?? (known?.id === destinationId ? known : undefined);
}
