import type { RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, test } from 'vitest';
import { createOutgoing, type Outgoing, OutgoingError } from '../../../src/kernel/outgoing/outgoing.ts';
import { type Listening, listenHttp, listenTcp } from '../../support/listening.ts';
import { isMatrix } from '../../support/matrix.ts';
import { until } from '../../support/until.ts';

const closers: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close();
});

interface Receiver {
  readonly outgoing: Outgoing;
  readonly server: Listening;
  readonly url: string;
}

function reach(server: Listening): Receiver {
  const outgoing = createOutgoing({ allowPrivateHosts: [{ host: '127.0.0.1', port: server.port }] });
  closers.push(
    () => server.close(),
    () => outgoing.close(),
  );
  return { outgoing, server, url: `http://127.0.0.1:${server.port}/` };
}

const answering = async (listener: RequestListener) => reach(await listenHttp(listener));
/** Speaks before it has heard the whole question, whatever the question is. */
const speaking = async (speak: (socket: Socket) => void) =>
  reach(await listenTcp((socket) => socket.once('data', () => speak(socket))));

describe('an answer', () => {
  test('comes with status, headers, body and duration', async () => {
    const { outgoing, url } = await answering((request, response) => {
      let text = '';
      request.on('data', (chunk) => {
        text += chunk;
      });
      request.on('end', () => {
        response.writeHead(201, { 'X-Kind': 'echo', 'Set-Cookie': ['a=1', 'b=2'] });
        response.end(JSON.stringify({ text, url: request.url, method: request.method, headers: request.headers }));
      });
    });
    const answer = await outgoing.request({
      method: 'POST',
      url: `${url}hook?a=1#part`,
      headers: { 'Content-Type': 'application/json', 'X-Signature': 'abc' },
      body: Buffer.from('{"é":1}'),
    });
    expect(answer).toMatchObject({ status: 201, headers: { 'x-kind': 'echo', 'set-cookie': ['a=1', 'b=2'] } });
    expect(answer.durationMs).toBeGreaterThanOrEqual(0);
    expect(JSON.parse(answer.body.toString())).toMatchObject({
      text: '{"é":1}',
      url: '/hook?a=1',
      method: 'POST',
      headers: {
        'content-type': 'application/json',
        'content-length': '8',
        'x-signature': 'abc',
        'accept-encoding': 'identity',
        'user-agent': 'Paywright',
      },
    });
  });

  test.each([301, 302, 303, 307, 308])('%i is an answer like any other: nobody goes there', async (status) => {
    const inside = await listenHttp((_, response) => response.end('secret'));
    closers.push(() => inside.close());
    const { outgoing, url } = await answering((_, response) => {
      response.writeHead(status, { location: `http://127.0.0.1:${inside.port}/` }).end('moved');
    });
    const answer = await outgoing.request({ method: 'POST', url, body: '{}' });
    expect(answer).toMatchObject({ status, headers: { location: `http://127.0.0.1:${inside.port}/` } });
    expect(answer.body.toString()).toBe('moved');
    expect(inside.connections()).toBe(0);
  });

  test.each([204, 400, 404, 410, 429, 500, 503])('%i is an answer too', async (status) => {
    const { outgoing, url } = await answering((_, response) => response.writeHead(status).end());
    expect(await outgoing.request({ method: 'GET', url })).toMatchObject({ status, body: Buffer.alloc(0) });
  });

  test('a bomb stays packed', async () => {
    const bomb = gzipSync(Buffer.alloc(10_000_000));
    const { outgoing, url } = await answering((_, response) => {
      response.writeHead(200, { 'content-encoding': 'gzip' }).end(bomb);
    });
    const { body } = await outgoing.request({ method: 'GET', url, maxBodyBytes: 20_000 });
    expect(body.equals(bomb)).toBe(true);
  });
});

describe('too much', () => {
  test.each([
    ['with a length', true],
    ['without a length', false],
  ])('a body that is too large, %s, is an error or is cut off', async (_, withLength) => {
    const { outgoing, url } = await answering((_, response) => {
      if (withLength) response.setHeader('content-length', 5_000_000);
      response.end(Buffer.alloc(5_000_000, 'x'));
    });
    await expect(outgoing.request({ method: 'GET', url })).rejects.toMatchObject({
      code: 'too_large',
      message: 'The response is larger than 1048576 bytes.',
    });
    const cut = await outgoing.request({ method: 'GET', url, maxBodyBytes: 1_000, truncateBody: true });
    expect(cut).toMatchObject({ status: 200 });
    expect(cut.body.toString()).toBe('x'.repeat(1_000));
    await expect(outgoing.request({ method: 'GET', url, maxBodyBytes: 5_000_000 })).resolves.toBeDefined();
  });

  test('a body of exactly the limit is fine, one of a byte more is not', async () => {
    const { outgoing, url } = await answering((request, response) =>
      response.end('x'.repeat(Number(request.url?.slice(1)))),
    );
    const get = (size: number) => outgoing.request({ method: 'GET', url: `${url}${size}`, maxBodyBytes: 100 });
    expect((await get(100)).body).toHaveLength(100);
    await expect(get(101)).rejects.toMatchObject({ code: 'too_large' });
  });

  test('an endless body does not keep its connection', async () => {
    let ended = 0;
    const { outgoing, url } = await speaking((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n\r\n');
      const flood = () => {
        while (!socket.destroyed && socket.write(Buffer.alloc(65_536)));
      };
      socket.on('drain', flood).on('close', () => ended++);
      flood();
    });
    const cut = await outgoing.request({ method: 'GET', url, maxBodyBytes: 10, truncateBody: true });
    expect(cut.body).toHaveLength(10);
    await expect(outgoing.request({ method: 'GET', url })).rejects.toMatchObject({ code: 'too_large' });
    await until('both connections to end', async () => ended === 2);
  });

  test.each([
    ['a header without end', 'X-Bomb: ', Buffer.alloc(65_536, 'x')],
    ['headers without end', '', Buffer.from('X-Bomb: 1\r\n'.repeat(6_000))],
    ['trailers without end', 'Transfer-Encoding: chunked\r\n\r\n0\r\n', Buffer.from('X-Bomb: 1\r\n'.repeat(6_000))],
  ])('%s: too large', async (_, start, more) => {
    const { outgoing, url } = await speaking((socket) => {
      socket.write(`HTTP/1.1 200 OK\r\n${start}`);
      const flood = () => {
        while (!socket.destroyed && socket.write(more));
      };
      socket.on('drain', flood);
      flood();
    });
    await expect(outgoing.request({ method: 'GET', url })).rejects.toMatchObject({
      code: 'too_large',
      message: 'The headers of the response are too large.',
    });
  });
});

describe('too slow', () => {
  const drip = (start: string, drop: string) => (socket: Socket) => {
    socket.write(start);
    const timer = setInterval(() => socket.write(drop), 20);
    socket.on('close', () => clearInterval(timer));
  };

  test.each([
    ['silence', () => {}],
    ['headers, drop by drop', drip('HTTP/1.1 200 OK\r\nX-Slow: ', 'x')],
    ['a body, drop by drop', drip('HTTP/1.1 200 OK\r\n\r\n', 'x')],
    ['chunks, drop by drop', drip('HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n', '1\r\nx\r\n')],
    ['early hints without end', drip('', 'HTTP/1.1 103 Early Hints\r\n\r\n')],
    ['a body that stops', drip('HTTP/1.1 200 OK\r\nContent-Length: 1000000\r\n\r\nx', '')],
  ])('%s: the time limit covers everything, and the connection ends', async (_, speak) => {
    let ended = false;
    const server = await listenTcp((socket) => {
      socket.on('close', () => {
        ended = true;
      });
      socket.once('data', () => speak(socket));
    });
    const { outgoing, url } = reach(server);
    const startedAt = performance.now();
    await expect(outgoing.request({ method: 'GET', url, timeoutMs: 400 })).rejects.toMatchObject({
      code: 'timeout',
      message: 'The host did not answer within 0.4 seconds.',
    });
    // Far from the limits that a client would have by itself.
    expect(performance.now() - startedAt).toBeLessThan(8_000);
    await until('the connection to end', async () => ended);
  });

  test('cutting off is no way to wait longer', async () => {
    const { outgoing, url } = await speaking(drip('HTTP/1.1 200 OK\r\n\r\n', 'x'));
    await expect(
      outgoing.request({ method: 'GET', url, timeoutMs: 300, maxBodyBytes: 1_000_000, truncateBody: true }),
    ).rejects.toMatchObject({ code: 'timeout' });
  });
});

describe('no answer at all', () => {
  test.each([
    ['a connection that ends', (socket: Socket) => socket.end()],
    ['a connection that is torn', (socket: Socket) => socket.resetAndDestroy()],
    ['a body that ends early', (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nx')],
    ['another protocol', (socket: Socket) => socket.end('SSH-2.0-OpenSSH_9.6\r\n')],
    [
      'an upgrade',
      (socket: Socket) => socket.end('HTTP/1.1 101 Switching\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n'),
    ],
    [
      'two lengths',
      (socket: Socket) => socket.end('HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nxy'),
    ],
  ])('%s is a clear error', async (_, speak) => {
    const { outgoing, url } = await speaking(speak);
    const failure = await outgoing.request({ method: 'GET', url }).catch((error) => error);
    expect(failure).toBeInstanceOf(OutgoingError);
    expect(failure.code).toBe('unreachable');
    expect(failure.message).toMatch(/^The host .*\.$/);
    expect(failure.message).not.toContain('127.0.0.1');
  });

  test.each([
    [{ Host: 'other.example.com' }, 'The header host must not be set by the caller.'],
    [{ 'transfer-encoding': 'chunked' }, 'The header transfer-encoding must not be set by the caller.'],
    [{ 'Accept-Encoding': 'gzip' }, 'The header accept-encoding must not be set by the caller.'],
    [{ 'x-a': 'b\r\nx-injected: 1' }, 'The request cannot be sent: a header is not valid.'],
    [{ 'x a': 'b' }, 'The request cannot be sent: a header is not valid.'],
  ])('the headers %j are refused', async (headers, message) => {
    const { outgoing, server, url } = await answering((_, response) => response.end());
    await expect(
      outgoing.request({ method: 'GET', url, headers: headers as unknown as Record<string, string> }),
    ).rejects.toMatchObject({ code: 'refused', message });
    expect(server.connections()).toBe(0);
  });
});

describe('many at once', () => {
  test('connections are used again, and everybody gets his own answer', async () => {
    const { outgoing, server, url } = await answering((request, response) => response.end(request.url));
    for (let index = 0; index < 50; index++) await outgoing.request({ method: 'GET', url });
    expect(server.connections()).toBeLessThan(10);
    const answers = await Promise.all(
      Array.from({ length: isMatrix ? 2_000 : 400 }, (_, index) =>
        outgoing.request({ method: 'GET', url: `${url}${index}`, timeoutMs: 60_000 }),
      ),
    );
    expect(answers.map(({ body }) => body.toString())).toEqual(answers.map((_, index) => `/${index}`));
    expect(server.connections()).toBeLessThanOrEqual(128);
  });

  test('a receiver that does not answer holds up no other', { tags: ['matrix'] }, async () => {
    const dead = await listenTcp(() => {});
    const quick = await listenHttp((_, response) => response.end('quick'));
    const place = ({ port }: Listening) => ({ host: '127.0.0.1', port });
    const outgoing = createOutgoing({ allowPrivateHosts: [place(dead), place(quick)] });
    closers.push(
      () => dead.close(),
      () => quick.close(),
      () => outgoing.close(),
    );
    let waiting = 300;
    const waits = Array.from({ length: waiting }, () =>
      outgoing
        .request({ method: 'GET', url: `http://127.0.0.1:${dead.port}/`, timeoutMs: 5_000 })
        .catch((error: OutgoingError) => error.code)
        .finally(() => waiting--),
    );
    for (let index = 0; index < 20; index++) {
      await outgoing.request({ method: 'GET', url: `http://127.0.0.1:${quick.port}/` });
    }
    expect(waiting, 'all others still wait').toBe(300);
    expect(new Set(await Promise.all(waits))).toEqual(new Set(['timeout']));
  });

  test('what nobody waits for any more is ended wherever it is', async () => {
    let left = false;
    let requests = 0;
    const { outgoing, url } = await answering((_, response) => {
      requests++;
      response.write('half');
      response.on('close', () => {
        left = true;
      });
    });
    const leaving = new AbortController();
    const given = outgoing.request({ method: 'GET', url, signal: leaving.signal });
    await until('the request to arrive', async () => requests === 1);
    leaving.abort();
    await expect(given).rejects.toMatchObject({ name: 'OutgoingError', code: 'given_up' });
    await until('the host to see it', async () => left);
    await expect(outgoing.request({ method: 'GET', url, signal: leaving.signal })).rejects.toMatchObject({
      code: 'given_up',
    });
    expect(requests).toBe(1);
  });

  test('closing waits for what is under way and begins nothing new', async () => {
    let release: (() => void) | undefined;
    const { outgoing, url } = await answering((_, response) => {
      release = () => response.end('late');
    });
    const late = outgoing.request({ method: 'GET', url });
    await until('the request to arrive', async () => release !== undefined);
    const closed = outgoing.close();
    await expect(outgoing.request({ method: 'GET', url })).rejects.toMatchObject({
      code: 'unreachable',
      message: 'The service is stopping.',
    });
    release?.();
    expect((await late).body.toString()).toBe('late');
    await closed;
  });
});
