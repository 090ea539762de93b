import type { Desk } from './desk.ts';
import { chosenOption, totalOf } from './price-session.ts';
import type { Order, Session } from './session.ts';
import type { BookChange } from './tables.ts';

const firstNumber = 1_001;

/** Records the order and completes the checkout. */
export function placeOrder(session: Session, paidBy: string, { books, clock }: Desk): readonly BookChange[] {
  const { lines, currency, destination } = session;
  const option = chosenOption(session);
  const order: Order = {
    id: `HH-${firstNumber + books.count('order')}`,
    checkoutId: session.id,
    lines,
    currency,
    shipping: option?.title ?? '',
    shippingCents: option?.cents ?? 0,
    totalCents: totalOf(session),
    name: [destination?.first_name, destination?.last_name].filter(Boolean).join(' '),
    city: destination?.address_locality ?? '',
    placedAt: clock.now(),
    paidBy,
  };
  const ended: Session = { ...session, state: 'completed', attempt: undefined, orderId: order.id };
  return [
    ['order', order.id, order],
    ['session', session.id, ended],
  ];
}

/** Returns the stock and reopens the checkout for another payment. */
export function takeBack(session: Session, why: string, { shelf }: Desk): readonly BookChange[] {
  const open: Session = { ...session, state: 'open', attempt: undefined, paymentRefused: why };
  return [...shelf.putBack(session.lines), ['session', session.id, open]];
}
