import { createServer as createSocket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { Refusal } from '../refusal.ts';

interface Address {
  readonly host: string;
  readonly port: number;
  /** The settings that say so, where they are not the usual ones. */
  readonly names?: { readonly host: string; readonly port: string };
}

/** Finds out early, before minutes of preparation, that the port cannot be had. */
export async function refuseTakenPort(address: Address): Promise<void> {
  const socket = createSocket();
  await new Promise<void>((resolve, reject) => {
    socket.once('error', (error) => reject(explainListening(error, address)));
    socket.listen(address.port, address.host, () => socket.close(() => resolve()));
  });
}

/** Starts to listen; answers the port, which is the system's choice when 0 was asked for. */
export async function listen(app: FastifyInstance, address: Address): Promise<number> {
  try {
    await app.listen({ host: address.host, port: address.port, backlog: 1024 });
  } catch (error) {
    throw explainListening(error as Error, address);
  }
  const bound = app.server.address();
  return typeof bound === 'object' && bound !== null ? bound.port : address.port;
}

const usualNames = { host: 'HOST', port: 'PORT' };

/** Why nobody can listen there, for the operator. */
export function explainListening(error: Error, { host, port, names = usualNames }: Address): Error {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new Refusal(`Port ${port} on ${host} is taken: stop what uses it, or set ${names.port} to another one.`);
    case 'EACCES':
      return new Refusal(`Port ${port} may not be used by this user: set ${names.port} to one above 1023.`);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new Refusal(`${names.host} is ${host}, which is not an address of this machine.`);
    default:
      return error;
  }
}

const closeTimeoutMs = 10_000;

/**
 * Stops listening and lets open requests finish. A connection whose last request has just been answered counts as
 * idle only then, so idle ones are closed again and again until none is left.
 */
export async function closeServer(app: FastifyInstance): Promise<void> {
  const closeIdle = setInterval(() => app.server.closeIdleConnections(), 25);
  const closeAll = setTimeout(() => app.server.closeAllConnections(), closeTimeoutMs);
  try {
    await app.close();
  } finally {
    clearInterval(closeIdle);
    clearTimeout(closeAll);
  }
}
