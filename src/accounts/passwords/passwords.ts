import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';
import { httpErrors } from '../../kernel/http/errors.ts';

/** The number of argon2id, because the library's enum cannot be imported under isolated modules. */
const argon2id = 2;

/** Memory in KiB, and the number of passes. */
export interface PasswordCost {
  readonly memoryCost: number;
  readonly timeCost: number;
}

/** OWASP's parameters: tens of milliseconds of one core and 19 MiB per hash. */
export const usualPasswordCost: PasswordCost = { memoryCost: 19 * 1024, timeCost: 2 };

/** Leaves one core to other work: a flood of registrations waits in its own queue. */
const atOnce = Math.min(4, Math.max(1, availableParallelism() - 1));
const mostWaiting = 200;

/** Hashing is slow by design, so callers queue. `network` is the client's: networks take turns. */
export interface Passwords {
  hash(password: string, network: string): Promise<string>;
  /** Runs `work` when its turn comes, so that few attempts are counted at the same time. */
  inTurn<T>(
    network: string,
    work: (matches: (hash: string, password: string) => Promise<boolean>) => Promise<T>,
  ): Promise<T>;
}

export function createPasswords(cost: PasswordCost = usualPasswordCost): Passwords {
  const enter = createFairQueue(atOnce, mostWaiting);
  const parameters = { algorithm: argon2id, parallelism: 1, ...cost };
  return {
    hash: (password, network) => enter(network, () => hash(password, parameters)),
    inTurn: (network, work) => enter(network, () => work(verify)),
  };
}

interface Waiting {
  comeIn(): void;
  turnAway(reason: Error): void;
}

/**
 * Limits concurrency: networks take turns, and one network is served in order. When the queue is full, the network
 * with most entries loses its last one, so that no network can fill the queue alone; a network that is itself the
 * largest gets 503.
 */
export function createFairQueue(
  width: number,
  queue: number,
): <T>(network: string, work: () => Promise<T>) => Promise<T> {
  /** Ordered by whose turn is next. */
  const lines = new Map<string, Waiting[]>();
  let inside = 0;
  let waiting = 0;

  function makeRoom(network: string): void {
    if (waiting < queue) return;
    const own = lines.get(network)?.length ?? 0;
    const [longest] = [...lines.values()].toSorted((a, b) => b.length - a.length);
    if (longest === undefined || longest.length <= own + 1) throw tooMany();
    waiting--;
    longest.pop()?.turnAway(tooMany());
  }

  function wait(network: string): Promise<void> {
    return new Promise((comeIn, turnAway) => {
      const line = lines.get(network) ?? [];
      line.push({ comeIn, turnAway });
      lines.set(network, line);
      waiting++;
    });
  }

  function takeNext(): Waiting | undefined {
    for (const [network, line] of lines) {
      const next = line.shift();
      lines.delete(network);
      if (line.length > 0) lines.set(network, line);
      if (next !== undefined) waiting--;
      return next;
    }
    return undefined;
  }

  return async (network, work) => {
    if (inside >= width) {
      makeRoom(network);
      // A finishing call hands its place over, so `inside` does not change.
      await wait(network);
    } else {
      inside++;
    }
    try {
      return await work();
    } finally {
      const next = takeNext();
      if (next === undefined) inside--;
      else next.comeIn();
    }
  };
}

function tooMany() {
  return httpErrors.unavailable('Too many sign-ins are in progress. Try again in a few seconds.', {
    headers: { 'Retry-After': '5' },
  });
}
