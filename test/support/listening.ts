import { createServer, type RequestListener } from 'node:http';
import { createServer as createTlsServer, type ServerOptions } from 'node:https';
import { type AddressInfo, createServer as createTcpServer, type Server, type Socket } from 'node:net';

export interface Listening {
  readonly port: number;
  /** How many connections were opened to it. */
  readonly connections: () => number;
  close(): Promise<void>;
}

interface Where {
  readonly host?: string;
  readonly port?: number;
}

/** A server that answers in HTTP. */
export function listenHttp(listener: RequestListener, where: Where = {}): Promise<Listening> {
  return listen(createServer(listener), where);
}

/** A server that answers in HTTP over TLS. */
export function listenTls(options: ServerOptions, listener: RequestListener): Promise<Listening> {
  return listen(createTlsServer(options, listener), {});
}

/** A server that may answer with anything. */
export function listenTcp(onConnection: (socket: Socket) => void): Promise<Listening> {
  return listen(createTcpServer(onConnection), {});
}

async function listen(server: Server, { host = '127.0.0.1', port = 0 }: Where): Promise<Listening> {
  const open = new Set<Socket>();
  let connections = 0;
  server.on('connection', (socket) => {
    connections++;
    open.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => open.delete(socket));
  });
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host, port }, () => resolve());
  });
  return {
    port: (server.address() as AddressInfo).port,
    connections: () => connections,
    async close() {
      const closed = new Promise((resolve) => server.close(resolve));
      for (const socket of open) socket.destroy();
      await closed;
    },
  };
}
