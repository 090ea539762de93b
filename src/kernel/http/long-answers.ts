import { PassThrough } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../log/logger.ts';
import { createPlaces } from '../places/places.ts';
import type { AnyLongAnswer, Route, TextAnswer } from './define-route.ts';
import { addressOf } from './doors.ts';
import { holderOf } from './holder.ts';
import { longText } from './long-text.ts';
import { createReader } from './slow-reader.ts';
import { createTurns } from './turns.ts';

export interface LongAnswerLimits {
  /** How many of them are under way at once, in all … */
  readonly atOnce: number;
  /** … and of one account. */
  readonly perAccount: number;
  /** How long a client may leave us waiting. */
  readonly patienceMs: number;
}

export const usualLongAnswerLimits: LongAnswerLimits = { atOnce: 10, perAccount: 2, patienceMs: 30_000 };

/** Answers that are never in memory as a whole: made bit by bit, no faster than they are read. */
export interface LongAnswers {
  send(
    route: Route,
    answer: AnyLongAnswer | TextAnswer,
    request: FastifyRequest,
    reply: FastifyReply,
  ): Promise<FastifyReply>;
}

export interface LongAnswersOptions {
  readonly logger: Logger;
  readonly limits?: LongAnswerLimits | undefined;
}

/** What is shorter is sent as one, like any other answer: with its length, and a problem instead of it when it fails. */
const shortCharacters = 64 * 1024;

/**
 * The beginning is made before anything is sent, so what is refused is refused with its status. What fails later breaks the
 * connection off: nobody takes half an answer for a whole one.
 */
export function createLongAnswers({ logger, limits = usualLongAnswerLimits }: LongAnswersOptions): LongAnswers {
  const places = createPlaces({ what: 'long answers', inAll: limits.atOnce, shares: { caller: limits.perAccount } });
  const turns = createTurns();

  async function pour(pieces: AsyncIterator<string>, beginning: string, body: PassThrough): Promise<void> {
    const reader = createReader(body, limits.patienceMs);
    await reader.give(beginning);
    while (!body.destroyed) {
      const { done, value } = await turns.take(() => pieces.next());
      if (done === true) {
        body.end();
        return;
      }
      await reader.give(value);
    }
  }

  return {
    async send(route, answer, request, reply) {
      const place = places.begin(holderOf({ caller: request.caller, ip: addressOf(request) }));
      const { type, text } = longText(route, answer);
      const pieces = text[Symbol.asyncIterator]();
      const finish = () => {
        place.leave();
        // Whoever makes the pieces learns that no more are wanted, and gives up what it holds.
        pieces.return?.()?.catch(() => {});
      };
      let beginning = '';
      try {
        reply.type(type);
        for (;;) {
          const { done, value } = await turns.take(() => pieces.next());
          if (done === true) {
            finish();
            return reply.send(beginning);
          }
          beginning += value;
          if (beginning.length >= shortCharacters) break;
        }
        if (request.method === 'HEAD') {
          finish();
          return reply.send('');
        }
        place.stay();
      } catch (error) {
        finish();
        throw error;
      }
      const body = new PassThrough();
      body.on('error', () => {});
      // The framework destroys what it sends when the client has left, but not what the client did not wait for.
      if (reply.raw.destroyed) body.destroy();
      reply.raw.once('close', () => body.destroy());
      pour(pieces, beginning, body)
        .catch((err: unknown) => {
          logger.error({ err, requestId: request.id }, 'an answer was broken off');
          body.destroy();
        })
        .finally(finish);
      return reply.send(body);
    },
  };
}
