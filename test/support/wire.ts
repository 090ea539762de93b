import { connect, createServer, type Socket } from 'node:net';

/** A line to the database that can be muffled, so that answers no longer arrive, and cut: everywhere or at one place. */
export interface Wire {
  readonly url: string;
  /** What each connection said first: who it is, and which settings it wants. */
  readonly greetings: readonly string[];
  muffle(): void;
  cut(): void;
  /** The next connection that sends this text is cut before the database gets it. Resolves when that has happened. */
  cutBefore(text: string): Promise<void>;
  /**
   * Of the next transaction that sends this text the commit arrives, and its answer does not: when the database gives it,
   * the line is cut. Resolves when that has happened.
   */
  loseCommitAfter(text: string): Promise<void>;
  /** The same for a statement that is a commit of its own. */
  loseAnswerTo(text: string): Promise<void>;
}

interface Trap {
  readonly text: string;
  readonly at: 'text' | 'commit' | 'answer';
  readonly sprung: () => void;
}

export async function startWire(
  databaseUrl: string,
  closeAfter: (close: () => Promise<unknown>) => void,
): Promise<Wire> {
  const target = new URL(databaseUrl);
  const socketPath = `${decodeURIComponent(target.hostname || target.host)}/.s.PGSQL.5432`;
  const sockets = new Set<Socket>();
  let traps: Trap[] = [];
  const greetings: string[] = [];
  let muffled = false;

  const server = createServer((client) => {
    const upstream = connect(socketPath);
    let awaitsCommit: Trap | undefined;
    let committing = false;
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => {});
    }
    client.once('data', (chunk) => greetings.push(chunk.toString('latin1')));
    client.on('data', (chunk) => {
      const trap = traps.find(({ text }) => chunk.includes(text));
      if (trap !== undefined) {
        traps = traps.filter((other) => other !== trap);
        if (trap.at === 'text') {
          client.destroy();
          trap.sprung();
          return;
        }
        awaitsCommit = trap;
        committing = trap.at === 'answer';
      }
      committing ||= awaitsCommit !== undefined && chunk.includes('COMMIT\0');
      upstream.write(chunk);
    });
    upstream.on('data', (chunk) => {
      if (committing) {
        client.destroy();
        awaitsCommit?.sprung();
      } else if (!muffled) client.write(chunk);
    });
    upstream.on('close', () => client.destroy());
    client.on('close', () => upstream.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  closeAfter(async () => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  const setTrap = (text: string, at: Trap['at']) =>
    new Promise<void>((sprung) => {
      traps.push({ text, at, sprung });
    });

  return {
    url: `postgresql://paywright@127.0.0.1:${address.port}${target.pathname}`,
    greetings,
    muffle() {
      muffled = true;
    },
    cut() {
      for (const socket of sockets) socket.destroy();
    },
    cutBefore: (text) => setTrap(text, 'text'),
    loseCommitAfter: (text) => setTrap(text, 'commit'),
    loseAnswerTo: (text) => setTrap(text, 'answer'),
  };
}
