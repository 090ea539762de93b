import { createServer as createSocket, type Socket } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { newId } from '../ids/ids.ts';
import { Refusal } from '../refusal.ts';
import { httpErrors } from './errors.ts';

interface ParserError extends Error {
  readonly code?: string;
}

const statusOf: Readonly<Record<string, readonly [number, string]>> = {
  HPE_HEADER_OVERFLOW: [431, 'The headers of this request are too large.'],
  ERR_HTTP_REQUEST_TIMEOUT: [408, 'The request did not arrive completely within 30 seconds.'],
};

/** Answers malformed HTTP, which never becomes a request, with the same problem format as everything else. */
export function answerClientError(error: ParserError, socket: Socket): void {
  if (error.code === 'ECONNRESET' || !socket.writable) {
    socket.destroy();
    return;
  }
  const { title, code } = httpErrors.invalid_request;
  const [status, detail] = statusOf[error.code ?? ''] ?? [400, 'This is not a valid HTTP request.'];
  const body = JSON.stringify({ type: 'about:blank', title, status, detail, code, requestId: newId('req') });
  socket.end(
    [
      `HTTP/1.1 ${status} Invalid`,
      'Content-Type: application/problem+json',
      `Content-Length: ${Buffer.byteLength(body)}`,
      'Connection: close',
      '',
      body,
    ].join('\r\n'),
  );
}

interface Address {
  readonly host: string;
  readonly port: number;
  /** The settings to name in an error, if not HOST and PORT. */
  readonly names?: { readonly host: string; readonly port: string };
}

/** Fails early when the port is unavailable, before minutes of preparation. */
export async function refuseTakenPort(address: Address): Promise<void> {
  const socket = createSocket();
  await new Promise<void>((resolve, reject) => {
    socket.once('error', (error) => reject(explainListening(error, address)));
    socket.listen(address.port, address.host, () => socket.close(() => resolve()));
  });
}

/** Returns the port, which the system chooses for port 0. */
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

export function explainListening(error: Error, { host, port, names = usualNames }: Address): Error {
  switch ((error as NodeJS.ErrnoException).code) {
    case 'EADDRINUSE':
      return new Refusal(
        `Port ${port} on ${host} is in use: stop the process that uses it, or set ${names.port} to another port.`,
      );
    case 'EACCES':
      return new Refusal(`This user may not listen on port ${port}: set ${names.port} to a port above 1023.`);
    case 'EADDRNOTAVAIL':
    case 'ENOTFOUND':
      return new Refusal(`${names.host} is ${host}, which is not an address of this machine.`);
    default:
      return error;
  }
}

const closeTimeoutMs = 10_000;

/**
 * Stops listening and lets open requests finish. A connection becomes idle only after its last response, so idle ones
 * are closed repeatedly until none is left.
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
