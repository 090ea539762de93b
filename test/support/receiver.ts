import { createServer, type IncomingHttpHeaders, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll } from 'vitest';

/** A request as it arrived. */
interface Arrived {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The id of the event in the body. */
  readonly eventId: string;
}

export interface Receiver {
  readonly url: string;
  /** For ALLOW_PRIVATE_HOSTS. */
  readonly host: string;
  readonly port: number;
  readonly arrived: Arrived[];
  /** Answers 200 unless it is set. Leaving the response open keeps the sender waiting. */
  answer: (arrived: Arrived, response: ServerResponse) => void;
}

/** Somebody's server on this machine, for as long as the test file runs. Await it at the top of the file. */
export async function startReceiver(): Promise<Receiver> {
  const arrived: Arrived[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString('utf8');
      const one = { path: request.url ?? '', headers: request.headers, body, eventId: JSON.parse(body).id };
      arrived.push(one);
      receiver.answer(one, response);
    });
  });
  await new Promise<void>((resolve) => server.listen({ port: 0, host: '127.0.0.1', backlog: 1_024 }, resolve));
  const { port } = server.address() as AddressInfo;
  const receiver: Receiver = {
    url: `http://127.0.0.1:${port}/hook`,
    host: `127.0.0.1:${port}`,
    port,
    arrived,
    answer: (_arrived, response) => void response.end('ok'),
  };
  afterAll(() => {
    server.closeAllConnections();
    server.close();
  });
  return receiver;
}

export function answerWith(status: number, body = '', headers: Record<string, string> = {}): Receiver['answer'] {
  return (_arrived, response) => void response.writeHead(status, headers).end(body);
}
