import { type AddressInfo, connect, createServer, type Socket } from 'node:net';

export interface Relay {
  readonly port: number;
  /** From now on nothing passes, in either direction, and no connection is refused or closed either: the network swallows all. */
  cut(): void;
  /** Everything passes again, on new connections. */
  heal(): void;
  close(): void;
}

/** Passes connections on to a port, like a network that can be cut. */
export async function startRelay(target: number): Promise<Relay> {
  const open = new Set<Socket>();
  let isCut = false;
  const server = createServer((near) => {
    open.add(near);
    near.on('error', () => {});
    near.on('close', () => open.delete(near));
    if (isCut) {
      near.pause();
      return;
    }
    const far = connect(target, '127.0.0.1');
    open.add(far);
    far.on('error', () => near.destroy());
    near.on('close', () => far.destroy());
    far.on('close', () => {
      open.delete(far);
      if (!isCut) near.destroy();
    });
    near.pipe(far);
    far.pipe(near);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    cut() {
      isCut = true;
      for (const socket of open) socket.unpipe().pause();
    },
    heal() {
      isCut = false;
      for (const socket of open) socket.destroy();
    },
    close() {
      for (const socket of open) socket.destroy();
      server.close();
    },
  };
}
