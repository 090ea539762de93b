import { randomUUID } from 'node:crypto';
import type { ShopReply } from '../message.ts';
import { type Ask, type Desk, findSession } from './desk.ts';
import { forgetOld } from './forget-old.ts';
import { type Contents, readContents } from './read-body.ts';
import { type Notice, noSession, protocolError } from './refusal-reply.ts';
import type { Session, SessionLine } from './session.ts';
import { showSession } from './show-session.ts';

const keptMs = 6 * 3_600_000;
const mostSessions = 20_000;

export async function createSession(desk: Desk, { version, origin, body, keep }: Ask): Promise<ShopReply> {
  const { books, clock } = desk;
  await books.commit(forgetOld(books, clock.now()));
  if (books.count('session') >= mostSessions) throw protocolError('unavailable', 'The shop is crowded.');
  const id = `chk_${randomUUID().replaceAll('-', '')}`;
  const begun = { id, version, expiresAt: clock.now() + keptMs, destination: undefined };
  const { session, notices } = fillSession(begun, readContents(body), desk);
  const reply = showSession(session, desk, { origin, notices, status: 201 });
  await books.commit([['session', id, session], keep(id, reply)]);
  return reply;
}

/** Replaces the whole content of a checkout, at current prices. Used by create and update. */
function fillSession(
  session: Pick<Session, 'id' | 'version' | 'expiresAt' | 'destination'>,
  contents: Contents,
  { shelf, behaviour }: Desk,
): { readonly session: Session; readonly notices: readonly Notice[] } {
  const { id, version, expiresAt } = session;
  const products = contents.lines.map(({ itemId }, index) => {
    const product = shelf.find(itemId);
    if (product === undefined) throw noSession(version, unavailable('There is no such thing in this shop.', index));
    return product;
  });
  const currency = products[0]?.currency ?? 'USD';
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

function tooLate(to: 'cancel' | 'change'): Notice {
  return { code: 'checkout_closed', content: `It is too late to ${to} this checkout.`, severity: 'recoverable' };
}

/** The selected destination, the only one sent, or the known one with this id. */
function chooseDestination({ destinations = [], destinationId }: Contents, known: Session['destination']) {
  if (destinationId === undefined) return destinations.length === 1 ? destinations[0] : undefined;
  return destinations.find(({ id }) => id === destinationId) ?? (known?.id === destinationId ? known : undefined);
}

/** Cancels a checkout whose payment has not begun. The status in the response tells whether it was canceled. */
export async function cancelSession(desk: Desk, ask: Ask): Promise<ShopReply> {
  const { origin, keep } = ask;
  const found = findSession(desk, ask);
  if (found.state === 'completing' || found.state === 'completed') {
    return showSession(found, desk, { origin, notices: [tooLate('cancel')] });
  }
  const session = { ...found, state: 'canceled' as const };
  const reply = showSession(session, desk, { origin });
  await desk.books.commit([['session', session.id, session], keep(session.id, reply)]);
  return reply;
}

export async function updateSession(desk: Desk, ask: Ask): Promise<ShopReply> {
  const { origin, body, keep } = ask;
  const found = findSession(desk, ask);
  if (found.state !== 'open') return showSession(found, desk, { origin, notices: [tooLate('change')] });
  const { session, notices } = fillSession(found, readContents(body), desk);
  const reply = showSession(session, desk, { origin, notices });
  await desk.books.commit([['session', session.id, session], keep(session.id, reply)]);
  return reply;
}
