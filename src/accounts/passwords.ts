import { availableParallelism } from 'node:os';
import { hash, verify } from '@node-rs/argon2';
import { httpErrors } from '../http/errors.ts';

/** argon2id in the library's numbering, whose enum cannot be imported under isolated modules. */
const argon2id = 2;

/** OWASP's parameters. A hash takes tens of milliseconds of one core and 19 MiB, by design. */
const parameters = { algorithm: argon2id, memoryCost: 19 * 1024, timeCost: 2, parallelism: 1 };

/** One core is always left to everybody else: a flood of registrations waits in its own queue. */
const atOnce = Math.min(4, Math.max(1, availableParallelism() - 1));
const mostWaiting = 200;

/** Slow by design, so whoever needs one waits for a turn. */
export interface Passwords {
  hash(password: string): Promise<string>;
  /** `work` starts when it is its turn; what it does there, such as counting attempts, few do at the same moment. */
  inTurn<T>(work: (matches: (hash: string, password: string) => Promise<boolean>) => Promise<T>): Promise<T>;
}

export function createPasswords(): Passwords {
  const enter = createGate(atOnce, mostWaiting);
  return {
    hash: (password) => enter(() => hash(password, parameters)),
    inTurn: (work) => enter(() => work(verify)),
  };
}

/** Lets a few through at a time, and turns away with 503 whoever would have to wait too long. */
export function createGate(width: number, queue: number): <T>(work: () => Promise<T>) => Promise<T> {
  const waiting: (() => void)[] = [];
  let inside = 0;

  return async (work) => {
    if (inside >= width) {
      if (waiting.length >= queue) {
        throw httpErrors.unavailable('Too many people are signing in at this moment. Try again in a few seconds.', {
          headers: { 'Retry-After': '5' },
        });
      }
      // Whoever leaves hands over the place, so `inside` does not change.
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else {
      inside++;
    }
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next === undefined) inside--;
      else next();
    }
  };
}
