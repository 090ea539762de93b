import { randomUUID } from 'node:crypto';
import { json, type ShopReply } from '../message.ts';
import { type Ask, findSession } from './ask.ts';
import { assessSession, paymentFailed } from './assess-session.ts';
import type { Desk } from './desk.ts';
import { totalOf } from './price-session.ts';
import { readToken } from './read-body.ts';
import type { Notice, Session } from './session.ts';
import type { Payments } from './settle-payments.ts';
import { circumstancesOf, showSession } from './show-session.ts';

/** Checks that the price is unchanged, reserves the stock, and only then redeems the payment. */
export async function completeSession(desk: Desk, ask: Ask, payments: Payments): Promise<ShopReply> {
  const { books, shelf, behaviour } = desk;
  const { origin, body, keep } = ask;
  const token = readToken(body);
  const found = findSession(desk, ask);
  if (found.state !== 'open') return showSession(found, desk, { origin });

  const session: Session = {
    ...price(found, desk),
    needsBuyer: found.needsBuyer || behaviour().askForBuyer === 'complete',
  };
  const answer = async (notices: readonly Notice[] = []) => {
    const reply = showSession(session, desk, { origin, notices });
    await books.commit([['session', session.id, session], keep(session.id, reply)]);
    return reply;
  };
  if (totalOf(session) !== totalOf(found)) return answer([priceChanged]);
  if (assessSession(session, circumstancesOf(desk)).status !== 'ready_for_complete') return answer();
  if (token === undefined) return answer([paymentFailed('This shop knows no such way to pay.')]);
  const taken = shelf.take(session.lines);
  if (taken === undefined) return answer();

  const attempt = {
    key: randomUUID(),
    token,
    amount: totalOf(session) + behaviour().redeemMore,
    currency: behaviour().redeemCurrency ?? session.currency,
  };
  const completing: Session = { ...session, state: 'completing', paymentRefused: undefined, attempt };
  // From here on the payment is carried through, even if this process or the client goes away.
  await books.commit([...taken, ['session', session.id, completing], keep(session.id)]);
  await payments.begin(session.id);

  const reply = showSession(books.get('session', session.id) ?? completing, desk, { origin });
  await books.commit([keep(session.id, reply)]);
  return books.get('session', session.id)?.state === 'completed' ? answerOddly(reply, desk) : reply;
}

const priceChanged: Notice = {
  code: 'price_changed',
  content: 'A price has changed since you last looked.',
  severity: 'recoverable',
  path: '$.totals',
};

function price(session: Session, { shelf, behaviour }: Desk): Session {
  const lines = session.lines.map((line) => {
    const { cents, shippingCents } = shelf.find(line.itemId) ?? line;
    return { ...line, cents: cents + behaviour().raisePriceBy, shippingCents };
  });
  return { ...session, lines };
}

/** Applies the configured fault to the response of a recorded order. */
function answerOddly(reply: ShopReply, { behaviour }: Desk): ShopReply {
  const { answerLateMs: lateMs, answer } = behaviour();
  if (answer === 'never') return { ...reply, oddity: 'held' };
  if (answer === 'twice') return { ...reply, lateMs, oddity: 'twice' };
  if (answer === 'garbage') return { ...reply, lateMs, body: '<!doctype html><p>Thank you for your order' };
  if (answer === 'error') {
    return json({ code: 'internal_error', content: 'The till is jammed.' }, { status: 500, lateMs });
  }
  return { ...reply, lateMs };
}
