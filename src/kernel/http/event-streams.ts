import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from '../log/logger.ts';
import { createPlaces } from '../places/places.ts';
import type { Route, StreamAnswer } from './define-route.ts';
import { addressOf } from './doors.ts';
import { httpErrors } from './errors.ts';
import { holderOf } from './holder.ts';
import { describeProblem, toProblem } from './send-problem.ts';

/** The answers that go on: Server-Sent Events, each to whoever has asked for it. */
export interface EventStreams {
  /** Throws `NoPlace` when too many are open. `link` is the page that the stream belongs to, if others may have it open too. */
  send(route: Route, answer: StreamAnswer, request: FastifyRequest, reply: FastifyReply, link?: string): FastifyReply;
  /** Ends them all, and tells those who listen. */
  close(): void;
}

export interface EventStreamsOptions {
  readonly logger: Logger;
  readonly publicUrl: () => string;
  /** How often a comment shows proxies and the client that the connection lives. */
  readonly heartbeatMs?: number;
  /** How long a client may leave unread what was sent. */
  readonly patienceMs?: number;
}

/** An open stream costs a connection and a heartbeat. People behind one address share it, so its share is wider than one person needs. */
const limits = { what: 'event streams', inAll: 1_024, shares: { link: 8, caller: 32, address: 32, network: 128 } };

const stopping = 'stopping';
const heartbeat = ':\n\n';

/** An event on the wire. JSON has no line breaks of its own, so one line of data is enough. */
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

  async function tell(route: Route, { stream }: StreamAnswer, requestId: string, lines: PassThrough): Promise<void> {
    const over = new AbortController();
    open.add(over);
    lines.on('error', () => {});
    // The framework destroys what it sends when the client has left.
    lines.on('close', () => over.abort());
    const beat = setInterval(() => void (lines.writableNeedDrain || lines.write(heartbeat)), heartbeatMs);
    try {
      // Something at once, so that nobody between us and the client waits for more before it passes on the headers.
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
      // The connection holds the place, until the last byte is sent or the client has left.
      if (reply.raw.destroyed) place.leave();
      reply.raw.once('close', () => place.leave());
      // Proxies that gather answers would keep back what is worth most while it is new.
      reply
        .headers({ 'Cache-Control': 'no-store', 'X-Accel-Buffering': 'no' })
        .type('text/event-stream; charset=utf-8');
      if (request.method === 'HEAD') return reply.send('');
      const lines = new PassThrough();
      // The framework destroys what it sends when the client leaves, but not what the client did not wait for.
      if (reply.raw.destroyed) lines.destroy();
      void tell(route, answer, request.id, lines);
      return reply.send(lines);
    },

    close() {
      for (const over of open) over.abort(stopping);
    },
  };
}

/** What leaves is what was declared. */
function checked({ spec }: Route, { event, data }: { event: string; data: unknown }): { event: string; data: unknown } {
  const declared = spec.events?.[event];
  if (declared === undefined) throw new Error(`${spec.id} told of ${event}, which it does not declare`);
  return { event, data: declared.schema.parse(data) };
}

/** Writes no faster than the client reads, and no longer than it is patient with one that does not read at all. */
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

/** Ends with the signal, also when whoever tells the events does not look at it. */
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
