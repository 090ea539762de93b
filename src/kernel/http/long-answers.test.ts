import { once } from 'node:events';
import { BlockList, connect, type Server } from 'node:net';
import { setImmediate } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { z } from 'zod';
import { createLogger } from '../log/logger.ts';
import { createSecrets } from '../secrets/secrets.ts';
import { defineRoute, type Route, scopes } from './define-route.ts';
import { closeServer } from './listen.ts';
import type { LongAnswerLimits } from './long-answers.ts';
import { buildOpenApi } from './openapi.ts';
import { createServer } from './server.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

const schema = z.object({ title: z.string(), words: z.array(z.object({ word: z.string() })) });
type Words = { word: string; more?: string }[];

const wordsRoute = (items: () => AsyncIterable<Words>) =>
  defineRoute(
    {
      id: 'listWords',
      method: 'GET',
      path: '/words',
      tag: 'Words',
      summary: 'All words',
      auth: 'key',
      scope: 'read',
      query: z.strictObject({ plain: z.string().optional() }),
      returns: {
        200: {
          description: 'The words',
          schema,
          example: { title: 'Words', words: [{ word: 'one' }] },
          alternatives: { 'text/plain': 'one\n' },
          long: 'words',
        },
      },
    },
    async ({ query }) =>
      query.plain === undefined
        ? { status: 200, long: { head: { title: 'Words', secret: 'no' } as { title: string }, items } }
        : { status: 200, text: { type: 'text/plain', pieces: () => plain(items()) } },
  );

async function* plain(items: AsyncIterable<Words>): AsyncGenerator<string> {
  for await (const words of items) yield words.map(({ word }) => `${word}\n`).join('');
}

interface Described {
  readonly get: {
    readonly responses: { readonly 200: { readonly content: Record<string, { readonly schema: unknown }> } };
  };
}

const servers = new Map<string, Server>();

const limits: LongAnswerLimits = { atOnce: 3, perAccount: 2, patienceMs: 60_000 };

async function serve(route: Route, given: Partial<LongAnswerLimits> = {}): Promise<string> {
  const app = createServer({
    config: {
      rateLimits: { free: 0, pro: 0, anonymous: 0, network: 0, pages: 0, address: 0 },
      trustedProxies: new BlockList(),
    },
    publicUrl: () => 'http://pay.example',
    routes: [route],
    authenticate: (token) => ({ accountId: BigInt(token), keyId: '', handle: '', tier: 'free', scopes, bucket: token }),
    limiter: {
      take: () => ({ allowed: true, remaining: 1, resetMs: 1, giveBack: () => {} }),
      peek: () => ({ allowed: true, remaining: 1, resetMs: 1 }),
      close: async () => {},
    },
    secrets: createSecrets('s'.repeat(32)),
    logger: createLogger('silent'),
    longAnswerLimits: { ...limits, ...given },
  });
  closers.push(() => closeServer(app));
  const url = `${await app.listen({ port: 0, host: '127.0.0.1' })}/api/words`;
  servers.set(url, app.server);
  return url;
}

const ask = (url: string, account = 1, method = 'GET') =>
  fetch(url, { method, headers: { authorization: `Bearer ${account}` } });

const codeOf = async (reply: Response) => ((await reply.json()) as { code: string }).code;

const manyWords = (chunk: number): Words =>
  Array.from({ length: 1_000 }, (_, index) => ({ word: `${chunk}-${index}` }));

async function* chunks(count: number): AsyncGenerator<Words> {
  for (let chunk = 0; chunk < count; chunk++) yield manyWords(chunk);
}

/** Words without end: how often somebody began to ask for them, how many bits were made, and how often nobody wanted more. */
function endless() {
  const state = { begun: 0, made: 0, ended: 0 };
  async function* items(): AsyncGenerator<Words> {
    state.begun++;
    try {
      for (;;) yield manyWords(state.made++);
    } finally {
      state.ended++;
    }
  }
  return { state, items };
}

/** Somebody who asks and reads nothing. */
async function askWithoutReading(url: string, account: number) {
  const { hostname, port, pathname } = new URL(url);
  const socket = connect(Number(port), hostname);
  socket.on('error', () => {});
  await once(socket, 'connect');
  socket.pause();
  socket.write(`GET ${pathname} HTTP/1.1\r\nHost: test\r\nAuthorization: Bearer ${account}\r\n\r\n`);
  closers.push(async () => socket.destroy());
  return socket;
}

/** Until the server knows that nobody is connected. */
const untilAllHaveLeft = (url: string) =>
  expect
    .poll(() => new Promise((resolve) => servers.get(url)?.getConnections((_error, count) => resolve(count))))
    .toBe(0);

/** Until so many have begun, and as much is made as fits between them and those who do not read. */
async function untilStill(state: { readonly begun: number; readonly made: number }, begun: number): Promise<void> {
  let before = -1;
  await vi.waitFor(
    () => {
      const still = state.begun === begun && state.made > begun && state.made === before;
      before = state.made;
      expect(still).toBe(true);
    },
    { interval: 250, timeout: 60_000 },
  );
}

describe('a long answer', () => {
  it('is to the letter what it would be as one', async () => {
    const url = await serve(wordsRoute(() => chunks(20)));
    const reply = await ask(url);
    expect(reply.headers.get('content-type')).toBe('application/json; charset=utf-8');
    expect(reply.headers.get('transfer-encoding')).toBe('chunked');
    const words = Array.from({ length: 20 }, (_, chunk) => manyWords(chunk)).flat();
    expect(await reply.text()).toBe(JSON.stringify({ title: 'Words', words }));
    const text = await ask(`${url}?plain`);
    expect(text.headers.get('content-type')).toBe('text/plain; charset=utf-8');
    expect(await text.text()).toBe(words.map(({ word }) => `${word}\n`).join(''));
  });

  it('that is short is sent as one, and one without an item is whole too', async () => {
    const short = await ask(await serve(wordsRoute(() => chunks(1))));
    expect(short.headers.get('content-length')).not.toBeNull();
    expect(await short.json()).toEqual({ title: 'Words', words: manyWords(0) });
    const empty = await ask(await serve(wordsRoute(() => chunks(0))));
    expect(await empty.text()).toBe('{"title":"Words","words":[]}');
  });

  it('holds nothing that was not declared', async () => {
    const items = async function* () {
      yield [{ word: 'one', more: 'hidden' }];
    };
    expect(await (await ask(await serve(wordsRoute(items)))).text()).toBe('{"title":"Words","words":[{"word":"one"}]}');
  });

  it('that fails at its beginning is a problem, and one that fails later is broken off', async () => {
    const failing = (after: number) =>
      async function* (): AsyncGenerator<Words> {
        yield* chunks(after);
        throw new Error('these words do not add up');
      };
    const early = await ask(await serve(wordsRoute(failing(1))));
    expect([early.status, await codeOf(early)]).toEqual([500, 'internal_error']);
    for (const path of ['', '?plain']) {
      const late = await ask(`${await serve(wordsRoute(failing(50)))}${path}`);
      expect(late.status).toBe(200);
      await expect(late.text()).rejects.toThrow();
    }
  });

  it('is refused as a whole when an item is not what was declared', async () => {
    const items = async function* () {
      yield [{ word: 1 as unknown as string }];
    };
    expect((await ask(await serve(wordsRoute(items)))).status).toBe(500);
  });

  it('to HEAD has its headers and no more, and leaves nothing behind', async () => {
    const { state, items } = endless();
    const url = await serve(wordsRoute(items), { perAccount: 1 });
    for (let time = 0; time < 3; time++) {
      const reply = await ask(url, 1, 'HEAD');
      expect([reply.status, await reply.text()]).toEqual([200, '']);
    }
    expect(state.ended).toBe(3);
  });

  it('is made no faster than it is read, and ends at once when the client leaves', async () => {
    const { state, items } = endless();
    const url = await serve(wordsRoute(items), { perAccount: 1 });
    const socket = await askWithoutReading(url, 1);
    await untilStill(state, 1);
    expect(state.ended).toBe(0);
    socket.destroy();
    await expect.poll(() => state.ended).toBe(1);
    expect((await ask(url, 1, 'HEAD')).status).toBe(200);
  });

  it('ends also when the client has left before its beginning was there', async () => {
    const { state, items } = endless();
    let begin: (() => void) | undefined;
    const url = await serve(
      wordsRoute(async function* () {
        await new Promise<void>((resolve) => {
          begin = resolve;
        });
        yield* items();
      }),
      { perAccount: 1 },
    );
    const socket = await askWithoutReading(url, 1);
    await expect.poll(() => begin).toBeDefined();
    expect((await ask(url, 1, 'HEAD')).status).toBe(429);
    socket.destroy();
    await untilAllHaveLeft(url);
    begin?.();
    await expect.poll(() => state.ended).toBe(1);
  });

  it('ends when the client stays and reads no more', async () => {
    const { state, items } = endless();
    const url = await serve(wordsRoute(items), { patienceMs: 300 });
    const socket = await askWithoutReading(url, 1);
    await expect.poll(() => state.ended).toBe(1);
    socket.resume();
    await once(socket, 'close');
  });

  it('has room for some at once, of one account and in all, and says so to the others', async () => {
    const { state, items } = endless();
    const url = await serve(wordsRoute(items));
    const sockets = [await askWithoutReading(url, 1), await askWithoutReading(url, 1)];
    await untilStill(state, 2);
    const own = await ask(url, 1);
    expect([own.status, own.headers.get('retry-after'), await codeOf(own)]).toEqual([429, '5', 'rate_limited']);
    sockets.push(await askWithoutReading(url, 2));
    await untilStill(state, 3);
    const others = await ask(url, 3);
    expect([others.status, await codeOf(others)]).toEqual([503, 'unavailable']);
    expect(state.ended).toBe(1);
    for (const socket of sockets) socket.destroy();
    await expect.poll(() => state.ended).toBe(4);
    expect((await ask(url, 1, 'HEAD')).status).toBe(200);
  });

  it('keeps nobody from a short one, however slowly it is read', async () => {
    const { state, items } = endless();
    let isShort = false;
    const url = await serve(wordsRoute(() => (isShort ? chunks(1) : items())));
    for (const account of [1, 1, 2]) await askWithoutReading(url, account);
    await untilStill(state, 3);
    isShort = true;
    expect((await ask(url, 3)).status).toBe(200);
  });

  it('is made one piece at a time in the whole process, also after one has failed', async () => {
    const state = { asked: 0, making: 0, most: 0 };
    const items = async function* (): AsyncGenerator<Words> {
      const isBroken = state.asked++ === 0;
      for (let chunk = 0; chunk < 3; chunk++) {
        state.most = Math.max(state.most, ++state.making);
        await setImmediate();
        state.making--;
        if (isBroken) throw new Error('these words do not add up');
        yield manyWords(chunk);
      }
    };
    const url = await serve(wordsRoute(items));
    const statuses = await Promise.all([1, 2, 3].map(async (account) => (await ask(url, account)).status));
    expect([statuses.toSorted(), state.most]).toEqual([[200, 200, 500], 1]);
  });

  it('is described like any other', () => {
    const route = wordsRoute(() => chunks(1));
    const document = buildOpenApi([route], 'http://pay.example', [{ name: 'Words', description: 'Words.' }]);
    const { content } = (document.paths['/words'] as unknown as Described).get.responses[200];
    expect(Object.keys(content)).toEqual(['application/json', 'text/plain']);
    expect(content['application/json']?.schema).toMatchObject({ properties: { words: { type: 'array' } } });
  });
});
