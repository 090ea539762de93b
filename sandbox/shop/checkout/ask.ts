import type { ShopReply } from '../message.ts';
import type { UcpVersion } from '../ucp-versions.ts';
import type { Desk } from './desk.ts';
import { noSession } from './refusal-reply.ts';
import type { Session } from './session.ts';
import type { BookChange } from './tables.ts';

/** A request that was found to be in order. */
export interface Ask {
  readonly version: UcpVersion;
  readonly origin: string;
  /** Empty when a checkout is created. */
  readonly sessionId: string;
  readonly body: unknown;
  /** What is written down so that the same request gets the same answer; without one, that it was begun. */
  readonly keep: (sessionId: string, reply?: ShopReply) => BookChange;
}

export function findSession(
  { books, clock }: Desk,
  { sessionId, version }: Pick<Ask, 'sessionId' | 'version'>,
): Session {
  const session = books.get('session', sessionId);
  const expired = session?.state === 'open' && session.expiresAt <= clock.now();
  if (session !== undefined && session.version === version && !expired) return session;
  throw noSession(version, {
    code: 'not_found',
    content: 'There is no such checkout, or not any more.',
    severity: 'unrecoverable',
  });
}
