import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { explainListening } from '../http/listen.ts';
import { isLoopback } from '../loopback.ts';
import { metricsContentType } from './render.ts';

export interface OperatorServer {
  readonly port: number;
  stop(): Promise<void>;
}

export interface OperatorAddress {
  readonly host: string;
  readonly port: number;
}

/** For the operator's own machines, and nobody else: it asks nobody who they are, so it is on a port of its own. */
export async function startOperatorServer(
  { host, port }: OperatorAddress,
  scrape: () => Promise<string>,
): Promise<OperatorServer> {
  const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
    answer(request, response, { host, scrape }).catch(() => response.destroy());
  });
  try {
    server.listen(port, host);
    await once(server, 'listening');
  } catch (error) {
    throw explainListening(error as Error, { host, port, names: { host: 'OPERATOR_HOST', port: 'OPERATOR_PORT' } });
  }
  return {
    port: (server.address() as AddressInfo).port,
    async stop() {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

async function answer(
  request: IncomingMessage,
  response: ServerResponse,
  { host, scrape }: { readonly host: string; readonly scrape: () => Promise<string> },
): Promise<void> {
  const refuse = (status: number, text: string, headers = {}) =>
    void response.writeHead(status, { 'Content-Type': 'text/plain; charset=utf-8', ...headers }).end(`${text}\n`);
  // Against DNS rebinding: a web page can point its own name at this machine, but then sends that name as Host.
  if (isLoopback(host) && !isLoopback((request.headers.host ?? '').replace(/:\d+$/, '')))
    return refuse(403, 'Ask for localhost.');
  if ((request.url ?? '').split('?')[0] !== '/metrics') return refuse(404, 'There is /metrics here, and nothing else.');
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return refuse(405, 'Ask with GET.', { Allow: 'GET, HEAD' });
  }
  response.writeHead(200, { 'Content-Type': metricsContentType, 'Cache-Control': 'no-store' }).end(await scrape());
}
