import type { ShopReply } from '../message.ts';
import { type Ask, findSession } from './ask.ts';
import type { Desk } from './desk.ts';
import { showSession } from './show-session.ts';

/** Cancels a checkout whose payment has not begun. The status in the response tells whether it was canceled. */
export async function cancelSession(desk: Desk, ask: Ask): Promise<ShopReply> {
  const { origin, keep } = ask;
  const found = findSession(desk, ask);
  if (found.state === 'completing' || found.state === 'completed') {
    const content = 'It is too late to cancel this checkout.';
    const notices = [{ code: 'checkout_closed', content, severity: 'recoverable' as const }];
    return showSession(found, desk, { origin, notices });
  }
  const session = { ...found, state: 'canceled' as const };
  const reply = showSession(session, desk, { origin });
  await desk.books.commit([['session', session.id, session], keep(session.id, reply)]);
  return reply;
}
