import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { z } from 'zod';
import type { Logger } from '../log/logger.ts';
import { createPlaces } from '../places/places.ts';
import type { AnyLongAnswer, Route, TextAnswer } from './define-route.ts';
import { holderOf } from './holder.ts';
import { addressOf } from './request-guards.ts';

export interface LongAnswerLimits {
  /** How many are under way at once, in all and of one account. */
  readonly atOnce: number;
  readonly perAccount: number;
  /** How long a client may stop reading. */
  readonly patienceMs: number;
}

/** An account must not be able to take all places. Half a minute outlasts a network that changes from one cell to the next. */
const usualLimits: LongAnswerLimits = { atOnce: 10, perAccount: 2, patienceMs: 30_000 };

/** Sends answers that are never in memory as a whole. */
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

/** A shorter answer is sent in one piece, with its length; if it fails, the client gets a problem instead. */
const shortCharacters = 64 * 1024;

/** After its patience is used up, a client that reads more slowly than this is disconnected. */
const leastCharactersPerMs = 8;

/** A turn that waited for the database may have taken long without using the processor. */
const longestTurnMs = 20;

/** Above this share of the time the process is busy with other requests. */
const busyFrom = 0.5;

/**
 * Makes a long answer piece by piece, no faster than the client reads. The beginning is made before anything is sent, so an early
 * error has its status; a later one breaks the connection off, so that no client takes half an answer for a whole one.
 */
export function createLongAnswers({ logger, limits = usualLimits }: LongAnswersOptions): LongAnswers {
  const places = createPlaces({ what: 'long answers', inAll: limits.atOnce, shares: { caller: limits.perAccount } });
  let turn: Promise<unknown> = Promise.resolve();

  /** One piece is made at a time for all answers together, and other requests are served before the next one. */
  function makeNext(pieces: AsyncIterator<string>): Promise<IteratorResult<string>> {
    let startedAt = 0;
    const made = turn.then(() => {
      startedAt = performance.now();
      return pieces.next();
    });
    turn = made.catch(() => {}).then(() => rest(performance.now() - startedAt));
    return made;
  }

  return {
    async send(route, answer, request, reply) {
      const place = places.begin(holderOf({ caller: request.caller, ip: addressOf(request) }));
      const { type, text } = toText(route, answer);
      const pieces = text[Symbol.asyncIterator]();
      const finish = () => {
        place.leave();
        // Tells the maker of the pieces to release what it holds.
        pieces.return?.()?.catch(() => {});
      };
      let beginning = '';
      let isWhole = false;
      try {
        reply.type(type);
        while (!isWhole && beginning.length < shortCharacters) {
          const { done, value } = await makeNext(pieces);
          isWhole = done === true;
          beginning += value ?? '';
        }
        if (!isWhole && request.method !== 'HEAD') place.stay();
      } catch (error) {
        finish();
        throw error;
      }
      if (isWhole || request.method === 'HEAD') {
        finish();
        return reply.send(isWhole ? beginning : '');
      }
      const { patienceMs } = limits;
      const next = () => makeNext(pieces);
      const body: Readable = Readable.from(pace({ beginning, next, patienceMs, giveUp: () => body.destroy() }));
      body.once('close', finish);
      body.once('error', (err) => logger.error({ err, requestId: request.id }, 'a long response was aborted'));
      // The framework destroys the body when the client leaves, but not if the client left before there was a body.
      if (reply.raw.destroyed) body.destroy();
      return reply.send(body);
    },
  };
}

interface Pace {
  readonly beginning: string;
  readonly next: () => Promise<IteratorResult<string>>;
  readonly patienceMs: number;
  /** Disconnects the client. */
  readonly giveUp: () => void;
}

/** A client may stop reading for as long as we are patient, and wins that time back by reading. */
export async function* pace({ beginning, next, patienceMs, giveUp }: Pace): AsyncGenerator<string> {
  let leftMs = patienceMs;
  let piece: IteratorResult<string> = { value: beginning };
  while (piece.done !== true) {
    leftMs = Math.min(patienceMs, leftMs + piece.value.length / leastCharactersPerMs);
    const since = performance.now();
    const timer = setTimeout(giveUp, Math.max(0, leftMs));
    try {
      yield piece.value;
    } finally {
      clearTimeout(timer);
    }
    leftMs -= performance.now() - since;
    piece = await next();
  }
}

/**
 * Rests as long as a turn took, and six times as long while the process is busy: so long answers take at most half of the
 * processor, and only a seventh from requests in a hurry.
 */
async function rest(tookMs: number): Promise<void> {
  const turnMs = Math.min(longestTurnMs, Math.ceil(tookMs));
  const before = performance.eventLoopUtilization();
  await sleep(turnMs);
  if (performance.eventLoopUtilization(before).utilization > busyFrom) await sleep(5 * turnMs);
}

function toText(
  route: Route,
  answer: AnyLongAnswer | TextAnswer,
): { readonly type: string; readonly text: AsyncIterable<string> } {
  if ('text' in answer) return { type: declaredType(route, answer), text: answer.text.pieces() };
  return { type: 'application/json; charset=utf-8', text: jsonOf(route, answer) };
}

function declaredType({ spec }: Route, { status, text }: TextAnswer): string {
  if (spec.returns[status]?.alternatives?.[text.type] === undefined) {
    throw new Error(`${spec.id} answered with ${text.type}, which it does not declare`);
  }
  return `${text.type}; charset=utf-8`;
}

/** The same text as JSON.stringify would make of the whole answer. Each item is checked against its declaration. */
async function* jsonOf(route: Route, { status, long: { head, items } }: AnyLongAnswer): AsyncGenerator<string> {
  const { name, rest: others, item } = declaredList(route, status);
  const beginning = JSON.stringify(others.parse(head)).slice(0, -1);
  let before = `${beginning}${beginning === '{' ? '' : ','}${JSON.stringify(name)}:[`;
  for await (const some of items()) {
    if (some.length === 0) continue;
    yield before + some.map((one) => JSON.stringify(item.parse(one))).join(',');
    before = ',';
  }
  yield `${before === ',' ? '' : before}]}`;
}

function declaredList({ spec }: Route, status: number) {
  const { schema, long: name } = spec.returns[status] ?? {};
  if (!(schema instanceof z.ZodObject) || name === undefined || Object.keys(schema.shape).at(-1) !== name) {
    throw new Error(`${spec.id} answered with a long list, which it does not declare as its last member`);
  }
  const { [name]: list, ...rest } = schema.shape;
  if (!(list instanceof z.ZodArray)) throw new Error(`${spec.id} declares ${name} as long, but it is not a list`);
  return { name, rest: z.object(rest), item: list.element as z.ZodType };
}
