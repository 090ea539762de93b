import type { Socket } from 'node:net';

/** One listener for each connection, however many of its requests wait. */
const ended = new WeakMap<Socket, AbortSignal>();

/** Aborted when the client has hung up. */
export function whenHungUp(socket: Socket): AbortSignal {
  const known = ended.get(socket);
  if (known !== undefined) return known;
  const controller = new AbortController();
  ended.set(socket, controller.signal);
  if (socket.destroyed) controller.abort();
  else socket.once('close', () => controller.abort());
  return controller.signal;
}
