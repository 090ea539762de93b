import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../log/logger.ts';
import { createPlaces } from '../places/places.ts';
import type { Route, StreamAnswer } from './define-route.ts';
import { httpErrors } from './errors.ts';
import { holderOf } from './holder.ts';
import { addressOf } from './request-guards.ts';
import { describeProblem, toProblem } from './send-problem.ts';

/** Server-Sent Events. */
export interface EventStreams {
  /** Throws `NoPlace` when too many streams are open. `link` identifies a page that several visitors may have open. */
  send(route: Route, answer: StreamAnswer, request: FastifyRequest, reply: FastifyReply, link?: string): FastifyReply;
  /** Ends all streams with an `error` event. */
  close(): void;
}

export interface EventStreamsOptions {
  readonly logger: Logger;
  readonly publicUrl: () => string;
  /** The interval of comments that keep proxies from closing an idle connection. */
  readonly heartbeatMs?: number;
  /** How long a client may leave sent data unread. */
  readonly patienceMs?: number;
}

/**
 * An open stream costs a connection and a heartbeat. People behind one address share its limit, so it exceeds what one
 * person needs.
 */
const limits = { what: 'event streams', inAll: 1_024, shares: { link: 8, caller: 32, address: 32, network: 128 } };

const stopping = 'stopping';
const heartbeat = ':\n\n';

/** JSON contains no raw line breaks, so one data line is enough. */
export function eventText({ event, data }: { readonly event: string; readonly data: unknown }): string {
  return `event: ${event}\ndata: ${JSON.stringify(data)}\n\n`;
}

export function createEventStreams({
  logger,
  publicUrl,
  heartbeatMs = 2_000,
  patienceMs = 30_000,
}: EventStreamsOptions): EventStreams {
  const open = new Set<AbortController>();
  const places = createPlaces(limits);
  let isClosed = false;

  async function tell(route: Route, { stream }: StreamAnswer, requestId: string, lines: PassThrough): Promise<void> {
    const over = new AbortController();
    open.add(over);
    // Its request was under way when the service began to stop.
    if (isClosed) over.abort(stopping);
    lines.on('error', () => {});
    // Fastify destroys the stream when the client disconnects.
    lines.on('close', () => over.abort());
    const beat = setInterval(() => void (lines.writableNeedDrain || lines.write(heartbeat)), heartbeatMs);
    try {
      // Written at once, because some proxies hold back the headers until the first bytes of the body.
      lines.write(heartbeat);
      for await (const event of untilAborted(stream(over.signal), over.signal)) {
        await write(lines, eventText(checked(route, event)), patienceMs);
      }
      if (over.signal.reason === stopping)
        throw httpErrors.unavailable('The service is shutting down. Send the request again.');
    } catch (error) {
      const problem = toProblem(error);
      if (problem.status >= 500 && problem !== error) logger.error({ err: error, requestId }, 'a stream failed');
      lines.write(eventText({ event: 'error', data: describeProblem(problem, requestId, publicUrl()) }));
    } finally {
      clearInterval(beat);
      open.delete(over);
      lines.end();
    }
  }

  return {
    send(route, answer, request, reply, link) {
      const place = places.enter({ ...holderOf({ caller: request.caller, ip: addressOf(request) }), link });
      // The connection holds the place until the last byte is sent or the client disconnects.
      if (reply.raw.destroyed) place.leave();
      reply.raw.once('close', () => place.leave());
      // A buffering proxy would delay events.
      reply
        .headers({ 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' })
        .type('text/event-stream; charset=utf-8');
      if (request.method === 'HEAD') return reply.send('');
      const lines = new PassThrough();
      // Fastify destroys the stream when the client disconnects, but not if that happened before `send`.
      if (reply.raw.destroyed) lines.destroy();
      void tell(route, answer, request.id, lines);
      return reply.send(lines);
    },

    close() {
      isClosed = true;
      for (const over of open) over.abort(stopping);
    },
  };
}

function checked({ spec }: Route, { event, data }: { event: string; data: unknown }): { event: string; data: unknown } {
  const declared = spec.events?.[event];
  if (declared === undefined) throw new Error(`${spec.id} sent the event ${event}, which it does not declare`);
  return { event, data: declared.schema.parse(data) };
}

/** Waits while the client reads slowly, and disconnects one that does not read at all. */
async function write(lines: PassThrough, text: string, patienceMs: number): Promise<void> {
  if (lines.destroyed || lines.write(text)) return;
  const giveUp = setTimeout(() => lines.destroy(), patienceMs);
  const settled = new AbortController();
  await Promise.race(['drain', 'close'].map((name) => once(lines, name, settled)))
    .catch(() => {})
    .finally(() => {
      clearTimeout(giveUp);
      settled.abort();
    });
}

/** Ends on abort even if the generator ignores the signal. */
async function* untilAborted<Event>(events: AsyncIterable<Event>, signal: AbortSignal): AsyncGenerator<Event> {
  const iterator = events[Symbol.asyncIterator]();
  try {
    while (!signal.aborted) {
      const result = await nextOrAborted(iterator, signal);
      if (result === undefined || result.done === true) return;
      yield result.value;
    }
  } finally {
    iterator.return?.()?.catch(() => {});
  }
}

function nextOrAborted<Event>(
  iterator: AsyncIterator<Event>,
  signal: AbortSignal,
): Promise<IteratorResult<Event> | undefined> {
  return new Promise((resolve, reject) => {
    const stop = () => resolve(undefined);
    signal.addEventListener('abort', stop);
    iterator
      .next()
      .then(resolve, reject)
      .finally(() => signal.removeEventListener('abort', stop));
  });
}
