import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Refusal } from '../refusal.ts';
import type { MigrationPatience } from './migration-lock.ts';

/** A lock that did not come in time, and a circle of such waits. */
const lockTrouble = new Set(['55P03', '40P01']);

const firstPauseMs = 500;
const longestPauseMs = 15_000;

export interface Waiting {
  /** What is tried, as the beginning of a sentence. */
  readonly what: string;
  /** Whom it waits for. */
  readonly whom: () => string;
}

/**
 * Whoever waits for a lock on a table makes everybody wait who comes later, readers too. So nothing waits for long: it gives up, lets
 * past who has gathered behind it, and tries again, until its patience ends.
 */
export async function letOthersPast<Result>(
  { patienceMs, say }: MigrationPatience,
  { what, whom }: Waiting,
  attempt: () => Promise<Result>,
): Promise<Result> {
  const deadline = performance.now() + patienceMs;
  for (let pauseMs = firstPauseMs; ; pauseMs = Math.min(2 * pauseMs, longestPauseMs)) {
    try {
      return await attempt();
    } catch (error) {
      if (!(error instanceof pg.DatabaseError && lockTrouble.has(error.code ?? ''))) throw error;
      if (performance.now() + pauseMs > deadline) {
        throw new Refusal(
          `${what} was not applied: it waited in vain for ${whom()}. Nothing of it has happened; try again.`,
        );
      }
      say(`${what} waits for ${whom()}; it lets others past and tries again in ${pauseMs / 1_000} s.`);
      await sleep(pauseMs);
    }
  }
}
