import type { ShopReply } from '../message.ts';
import type { UcpVersion } from '../ucp-versions.ts';
import type { Desk } from './desk.ts';
import { noSession } from './refusal-reply.ts';
import type { Session } from './session.ts';
import type { BookChange } from './tables.ts';

export interface Ask {
  readonly version: UcpVersion;
  readonly origin: string;
  /** Empty for `create`. */
  readonly sessionId: string;
  readonly body: unknown;
  /** The journal entry that makes a retry return the same response; without a reply it records that the request began. */
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
