import { BlockList, connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { createLogger } from '../log/logger.ts';
import { createSecrets } from '../secrets/secrets.ts';
import { defineStream } from './define-stream.ts';
import { httpErrors } from './errors.ts';
import { createEventStreams } from './event-streams.ts';
import { closeServer } from './listen.ts';
import { buildOpenApi } from './openapi.ts';
import { createServer } from './server.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const kinds = {
  tick: { description: 'one more', schema: z.object({ count: z.number() }), example: { count: 1 } },
  done: { description: 'the end', schema: z.object({}), example: {} },
} as const;

type Tick = { readonly event: 'tick'; readonly data: { count: number } };

const streamOf = (tell: (signal: AbortSignal) => AsyncIterable<Tick>, before: () => void | Promise<void> = () => {}) =>
  defineStream(
    {
      id: 'tick',
      path: '/ticks',
      tag: 'Ticks',
      summary: 'Ticks',
      description: 'Tells the time.',
      auth: 'none',
      query: z.strictObject({ n: z.string().optional() }),
      events: kinds,
    },
    async () => {
      await before();
      return tell;
    },
  );

async function serve(
  tell: (signal: AbortSignal) => AsyncIterable<Tick>,
  before?: () => void | Promise<void>,
): Promise<string> {
  const app = createServer({
    config: {
      rateLimits: { free: 0, pro: 0, anonymous: 0, network: 0, pages: 0, address: 0 },
      trustedProxies: new BlockList(),
    },
    publicUrl: () => 'http://pay.example',
    routes: [streamOf(tell, before)],
    authenticate: () => undefined,
    limiter: {
      take: () => ({ allowed: true, remaining: 1, resetMs: 1, giveBack: () => {} }),
      peek: () => ({ allowed: true, remaining: 1, resetMs: 1 }),
      close: async () => {},
    },
    secrets: createSecrets('s'.repeat(32)),
    logger: createLogger('silent'),
  });
  closers.push(() => closeServer(app));
  return `${await app.listen({ port: 0, host: '127.0.0.1' })}/api/ticks`;
}

async function* ticks(count: number): AsyncGenerator<Tick> {
  for (let index = 1; index <= count; index++) yield { event: 'tick', data: { count: index } };
}

describe('a stream of events', () => {
  it('is told of a stop that began while its request was under way', async () => {
    let letGo = () => {};
    const held = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    let begin = () => {};
    const begun = new Promise<void>((resolve) => {
      begin = resolve;
    });
    const asked = fetch(
      await serve(
        async function* () {
          for (;;) {
            yield { event: 'tick', data: { count: 1 } };
            await sleep(10);
          }
        },
        () => {
          begin();
          return held;
        },
      ),
    );
    await begun;
    const closed = closers.pop()?.();
    await sleep(10);
    letGo();
    expect(await (await asked).text()).toContain('"code":"unavailable"');
    await closed;
  });

  it('tells each of them as it comes, and ends', async () => {
    const reply = await fetch(await serve(() => ticks(2)));
    expect(reply.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    expect(reply.headers.get('cache-control')).toBe('no-store');
    expect(await reply.text()).toBe(':\n\nevent: tick\ndata: {"count":1}\n\nevent: tick\ndata: {"count":2}\n\n');
  });

  it('sends the first before there is a second', async () => {
    let release = () => {};
    const reply = await fetch(
      await serve(async function* () {
        yield* ticks(1);
        await new Promise<void>((resolve) => {
          release = resolve;
        });
      }),
    );
    const reader = reply.body?.getReader();
    let text = '';
    while (!text.includes('tick')) text += new TextDecoder().decode((await reader?.read())?.value);
    release();
    expect((await reader?.read())?.done).toBe(true);
  });

  it('is refused with a status before it begins, and with an event afterwards', async () => {
    const refused = await serve(
      () => ticks(1),
      () => {
        throw httpErrors.forbidden();
      },
    );
    expect((await fetch(refused)).status).toBe(403);
    expect((await fetch(`${refused}?x=1`)).status).toBe(400);
    const late = await serve(async function* () {
      yield* ticks(1);
      throw httpErrors.unavailable('Try later.');
    });
    const text = await (await fetch(late)).text();
    expect(text).toContain('event: tick');
    expect(JSON.parse(/event: error\ndata: (.*)\n\n$/.exec(text)?.[1] ?? '')).toMatchObject({
      code: 'unavailable',
      status: 503,
      detail: 'Try later.',
      requestId: expect.stringMatching(/^req_/),
    });
  });

  it('says nothing of what only we should know, and sends nothing that was not declared', async () => {
    const broken = await serve(async function* () {
      yield { event: 'tick', data: { count: 'secret', more: 'secret' } } as unknown as Tick;
    });
    const text = await (await fetch(broken)).text();
    expect(text).toContain('"code":"internal_error"');
    expect(text).not.toContain('secret');
    const other = await serve(async function* () {
      yield { event: 'tock', data: {} } as unknown as Tick;
    });
    expect(await (await fetch(other)).text()).toContain('"code":"internal_error"');
  });

  it('ends its work when the client leaves, though it does not look at the signal', async () => {
    let ended = false;
    let aborted = false;
    const url = new URL(
      await serve(async function* (signal) {
        signal.addEventListener('abort', () => {
          aborted = true;
        });
        try {
          for (let count = 0; ; count++) {
            yield { event: 'tick', data: { count } };
            await sleep(1);
          }
        } finally {
          ended = true;
        }
      }),
    );
    const socket = connect(Number(url.port), url.hostname);
    socket.write(`GET ${url.pathname} HTTP/1.1\r\nhost: x\r\n\r\n`);
    await new Promise((resolve) => socket.once('data', resolve));
    socket.destroy();
    await expect.poll(() => [ended, aborted]).toEqual([true, true]);
  });

  it('does not gather what a client leaves unread', async () => {
    let told = 0;
    const url = new URL(
      await serve(async function* () {
        for (;;) yield { event: 'tick', data: { count: ++told, filler: 'x' } } as Tick;
      }),
    );
    const socket = connect(Number(url.port), url.hostname);
    closers.push(async () => socket.destroy());
    socket.write(`GET ${url.pathname} HTTP/1.1\r\nhost: x\r\n\r\n`);
    socket.pause();
    let before = -1;
    await expect
      .poll(
        () => {
          const stands = told === before && told > 0;
          before = told;
          return stands;
        },
        { interval: 200 },
      )
      .toBe(true);
    socket.destroy();
  });

  it('is told when the service stops, and does not hold it up', async () => {
    const url = await serve(async function* () {
      yield* ticks(1);
      await new Promise(() => {});
    });
    const reply = await fetch(url);
    const text = reply.text();
    await closers.pop()?.();
    expect(await text).toContain('"code":"unavailable"');
  });

  it('answers HEAD without beginning', async () => {
    let begun = false;
    const url = await serve(async function* () {
      begun = true;
      yield* ticks(1);
    });
    const reply = await fetch(url, { method: 'HEAD' });
    expect([reply.status, reply.headers.get('content-type')]).toEqual([200, 'text/event-stream; charset=utf-8']);
    expect(begun).toBe(false);
  });

  it('stands in the description with every event', () => {
    const document = buildOpenApi([streamOf(() => ticks(1))], 'http://pay.example', []);
    const { content = {} } = (document.paths['/ticks']?.['get']?.responses['200'] ?? {}) as {
      content?: Record<string, object>;
    };
    expect(Object.keys(content)).toEqual(['text/event-stream']);
    expect(content['text/event-stream']).toMatchObject({
      example: 'event: tick\ndata: {"count":1}\n\nevent: done\ndata: {}\n\n',
      'x-events': { tick: { type: 'object' }, done: {}, error: { $ref: '#/components/schemas/Problem' } },
    });
  });
});

it('shows with comments that it lives while there is nothing to tell', async () => {
  const { default: Fastify } = await import('fastify');
  const app = Fastify();
  const streams = createEventStreams({
    logger: createLogger('silent'),
    publicUrl: () => '',
    heartbeatMs: 5,
  });
  const route = streamOf(() => ticks(0));
  app.get('/', async (request, reply) => {
    const written = vi.spyOn(reply.raw, 'write');
    return streams.send(
      route,
      {
        async *stream() {
          await expect.poll(() => written.mock.calls.length).toBeGreaterThanOrEqual(2);
          yield* ticks(1);
        },
      },
      request,
      reply,
    );
  });
  closers.push(() => app.close());
  expect((await app.inject('/')).body).toMatch(/^(?::\n\n){2,}event: tick\n/);
});
