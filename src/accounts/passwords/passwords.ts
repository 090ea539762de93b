import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';
import { httpErrors } from '../../kernel/http/errors.ts';

/** argon2id in the library's numbering, whose enum cannot be imported under isolated modules. */
const argon2id = 2;

/** What one hash costs: its memory in KiB, and how often it goes over it. */
export interface PasswordCost {
  readonly memoryCost: number;
  readonly timeCost: number;
}

/** OWASP's parameters. A hash takes tens of milliseconds of one core and 19 MiB, by design. */
export const usualPasswordCost: PasswordCost = { memoryCost: 19 * 1024, timeCost: 2 };

/** One core is always left to everybody else: a flood of registrations waits in its own queue. */
const atOnce = Math.min(4, Math.max(1, availableParallelism() - 1));
const mostWaiting = 200;

/** Slow by design, so whoever needs one waits for a turn. `network` is where the request came from: networks take turns. */
export interface Passwords {
  hash(password: string, network: string): Promise<string>;
  /** `work` starts when it is its turn; what it does there, such as counting attempts, few do at the same moment. */
  inTurn<T>(
    network: string,
    work: (matches: (hash: string, password: string) => Promise<boolean>) => Promise<T>,
  ): Promise<T>;
}

export function createPasswords(cost: PasswordCost = usualPasswordCost): Passwords {
  const enter = createGate(atOnce, mostWaiting);
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
 * Lets a few through at a time: networks in turn, and of one network in order. When all places to wait are taken, whoever has most
 * of them gives one up, so that nobody fills the queue for all; who would have to is turned away with 503.
 */
export function createGate(width: number, queue: number): <T>(network: string, work: () => Promise<T>) => Promise<T> {
  /** In the order in which networks have their next turn. */
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
      // Whoever leaves hands over the place, so `inside` does not change.
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
