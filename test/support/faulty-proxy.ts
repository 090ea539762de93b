import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll } from 'vitest';

/** What goes wrong between a client and the service. */
export const faults = {
  /** The request is lost. */
  async lostBefore({ hangUp }: Exchange) {
    hangUp();
  },
  /** The service has committed, and its answer is lost. */
  async lostAfter({ forward, hangUp }: Exchange) {
    await forward();
    hangUp();
  },
  /** The client comes again while its first request is still running. */
  async lostMeanwhile({ forward, hangUp }: Exchange) {
    const forwarded = forward();
    hangUp();
    await forwarded;
  },
  async cut({ forward, answer, hangUp }: Exchange) {
    const { status, headers, body } = await forward();
    answer.writeHead(status, headers);
    answer.write(body.subarray(0, body.length / 2), hangUp);
  },
  async busy({ answer }: Exchange) {
    answer.writeHead(503, { 'content-type': 'text/html' }).end('<h1>Service Unavailable</h1>');
  },
  async badGateway({ forward, answer }: Exchange) {
    await forward();
    answer.writeHead(502, { 'content-type': 'text/html' }).end('<h1>Bad Gateway</h1>');
  },
  async limited({ answer }: Exchange) {
    const problem = { code: 'rate_limited', status: 429, detail: 'Slowly.', requestId: 'req_1' };
    answer
      .writeHead(429, { 'content-type': 'application/problem+json', 'retry-after': '0' })
      .end(JSON.stringify(problem));
  },
} satisfies Record<string, (exchange: Exchange) => Promise<void>>;

export type Fault = keyof typeof faults;

interface Answer {
  readonly status: number;
  readonly headers: Record<string, string>;
  readonly body: Buffer;
}

interface Exchange {
  readonly answer: ServerResponse;
  readonly forward: () => Promise<Answer>;
  readonly hangUp: () => void;
}

interface FaultyProxy {
  readonly url: string;
  /** How often each fault came. */
  readonly counts: Map<Fault, number>;
  /** Undefined where nothing goes wrong. */
  choose: (request: IncomingMessage) => Fault | undefined;
}

/** Stands between clients and the service for as long as the test file runs. Await it at the top of the file. */
export async function startFaultyProxy(target: () => string): Promise<FaultyProxy> {
  const counts = new Map<Fault, number>();
  const server = createServer((asked, answer) => {
    const chunks: Buffer[] = [];
    asked.on('data', (chunk: Buffer) => chunks.push(chunk));
    asked.on('end', () => {
      const exchange = {
        answer,
        forward: () => forward(asked, Buffer.concat(chunks)),
        hangUp: () => void asked.socket.destroy(),
      };
      const fault = proxy.choose(asked);
      if (fault === undefined) void pass(exchange);
      else {
        counts.set(fault, (counts.get(fault) ?? 0) + 1);
        void faults[fault](exchange);
      }
    });
  });

  function forward({ method, url, headers }: IncomingMessage, body: Buffer): Promise<Answer> {
    return new Promise((resolve, reject) => {
      const { host: _, ...rest } = headers;
      const sent = request(`${target()}${url}`, { method, headers: rest }, (received) => {
        const parts: Buffer[] = [];
        received.on('data', (part: Buffer) => parts.push(part));
        received.on('end', () => {
          const whole = Buffer.concat(parts);
          const type = received.headers['content-type'] ?? '';
          const retryAfter = received.headers['retry-after'];
          resolve({
            status: received.statusCode ?? 0,
            headers: {
              'content-type': type,
              'content-length': String(whole.length),
              ...(retryAfter !== undefined && { 'retry-after': retryAfter }),
            },
            body: whole,
          });
        });
      });
      sent.on('error', reject);
      sent.end(body);
    });
  }

  async function pass({ answer, forward: send }: Exchange): Promise<void> {
    const { status, headers, body } = await send();
    answer.writeHead(status, headers).end(body);
  }

  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 1_024 }, resolve));
  const { port } = server.address() as AddressInfo;
  const proxy: FaultyProxy = { url: `http://127.0.0.1:${port}`, counts, choose: () => undefined };
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return proxy;
}
