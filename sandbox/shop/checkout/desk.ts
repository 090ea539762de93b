import type { Clock } from '../../../src/kernel/clock.ts';
import type { Logger } from '../../../src/kernel/log/logger.ts';
import type { SigningKey } from '../../../src/kernel/signing/signing-key.ts';
import type { ShopReply } from '../message.ts';
import type { UcpVersion } from '../ucp-versions.ts';
import { noSession } from './refusal-reply.ts';
import type { BookChange, Books, Session } from './session.ts';
import type { Shelf } from './shelf.ts';
import type { ShopBehaviour } from './switches.ts';

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

/** What every checkout step needs. */
export interface Desk {
  readonly clock: Clock;
  readonly logger: Logger;
  readonly books: Books;
  readonly shelf: Shelf;
  readonly behaviour: () => ShopBehaviour;
  /** Created on first use and stored before it is used. */
  readonly signingKey: () => Promise<SigningKey>;
  /** All that the shop knows about the service that pays it. */
  readonly publicUrl: () => string;
  readonly domain: string;
}
