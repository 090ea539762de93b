import { randomUUID } from 'node:crypto';
import type { ShopReply } from '../message.ts';
import type { Ask } from './ask.ts';
import type { Desk } from './desk.ts';
import { fillSession } from './fill-session.ts';
import { forgetOld } from './forget-old.ts';
import { readContents } from './read-body.ts';
import { protocolError } from './refusal-reply.ts';
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
