import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { explainListening } from '../http/listen.ts';
import { isLoopback } from '../loopback.ts';
import { metricsContentType } from './collect.ts';

export interface OperatorServer {
  readonly port: number;
  stop(): Promise<void>;
}

export interface OperatorAddress {
  readonly host: string;
  readonly port: number;
}

/** Serves /metrics without authentication, so it listens on a port of its own for the operator's machines only. */
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
  // Blocks DNS rebinding: a web page in a browser on this machine can reach the port only under its own host name.
  if (isLoopback(host) && !isLoopback((request.headers.host ?? '').replace(/:\d+$/, '')))
    return refuse(403, 'Use localhost as the host name.');
  if ((request.url ?? '').split('?')[0] !== '/metrics') return refuse(404, 'Not found. The metrics are at /metrics.');
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return refuse(405, 'Use GET.', { Allow: 'GET, HEAD' });
  }
  response.writeHead(200, { 'Content-Type': metricsContentType, 'Cache-Control': 'no-store' }).end(await scrape());
}
