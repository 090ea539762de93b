import { createHash } from 'node:crypto';
import type { Clock } from '../../../src/kernel/clock.ts';
import type { ShopReply } from '../message.ts';
import type { Ask } from './ask.ts';
import { protocolError } from './refusal-reply.ts';
import type { Books, KeptAnswer } from './tables.ts';

/** Runs a request once per Idempotency-Key. */
export interface Once {
  run(request: KeyedRequest, tell: TellAgain, act: (keep: Ask['keep']) => Promise<ShopReply>): Promise<ShopReply>;
}

export interface KeyedRequest {
  readonly key: unknown;
  /** Identical only for identical requests. */
  readonly fingerprint: string;
}

/** Shows the checkout if the stored request has no response, because a crash came in between. */
type TellAgain = (sessionId: string) => ShopReply;

interface Running {
  readonly fingerprint: string;
  readonly reply: Promise<ShopReply>;
}

export function createOnce({ books, clock }: { readonly books: Books; readonly clock: Clock }): Once {
  const running = new Map<string, Running>();

  return {
    async run({ key, fingerprint }, tell, act) {
      if (typeof key !== 'string' || key.length < 16 || key.length > 255) {
        throw protocolError('invalid_request', 'Idempotency-Key must be a UUID.');
      }
      const known: Running | KeptAnswer | undefined = running.get(key) ?? books.get('answer', key);
      if (known !== undefined && known.fingerprint !== fingerprint) {
        throw protocolError('idempotency_conflict', 'This Idempotency-Key was used for another request.');
      }
      if (known !== undefined) return 'sessionId' in known ? tellAgain(known, tell) : known.reply;

      const keep: Ask['keep'] = (sessionId, reply) => [
        'answer',
        key,
        { fingerprint, sessionId, reply: reply && { status: reply.status, body: String(reply.body) }, at: clock.now() },
      ];
      const reply = act(keep).finally(() => running.delete(key));
      running.set(key, { fingerprint, reply });
      return reply;
    },
  };
}

function tellAgain({ reply, sessionId }: KeptAnswer, tell: TellAgain): ShopReply {
  return reply === undefined ? tell(sessionId) : { ...reply, type: 'application/json; charset=utf-8' };
}

export function fingerprintOf(what: string, content: string | Buffer): string {
  return createHash('sha256').update(`${what}\n`).update(content).digest('base64url');
}
