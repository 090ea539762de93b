import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';

/** Listens on loopback only and returns the port; 0 picks any free one. */
export async function listenLocally(server: Server, port: number): Promise<number> {
  // A client may come back on its connection after a pause, also one that a busy machine has made long.
  server.keepAliveTimeout = 120_000;
  await new Promise<void>((resolve, reject) => {
    server.once('error', reject);
    server.listen({ host: '127.0.0.1', port }, resolve);
  });
  return (server.address() as AddressInfo).port;
}

export function closeServer(server: Server): Promise<void> {
  return new Promise((resolve) => {
    server.close(() => resolve());
    server.closeAllConnections();
  });
}
