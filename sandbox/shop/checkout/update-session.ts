import type { ShopReply } from '../message.ts';
import { type Ask, findSession } from './ask.ts';
import type { Desk } from './desk.ts';
import { fillSession } from './fill-session.ts';
import { readContents } from './read-body.ts';
import { showSession } from './show-session.ts';

export async function updateSession(desk: Desk, ask: Ask): Promise<ShopReply> {
  const { origin, body, keep } = ask;
  const found = findSession(desk, ask);
  if (found.state !== 'open') {
    const content = 'It is too late to change this checkout.';
    const notices = [{ code: 'checkout_closed', content, severity: 'recoverable' as const }];
    return showSession(found, desk, { origin, notices });
  }
  const { session, notices } = fillSession(found, readContents(body), desk);
  const reply = showSession(session, desk, { origin, notices });
  await desk.books.commit([['session', session.id, session], keep(session.id, reply)]);
  return reply;
}
