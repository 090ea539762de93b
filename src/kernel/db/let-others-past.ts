import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { Refusal } from '../refusal.ts';
import type { MigrationPatience } from './migration-lock.ts';

/** lock_not_available and deadlock_detected. */
const lockTrouble = new Set(['55P03', '40P01']);

const firstPauseMs = 500;
const longestPauseMs = 15_000;

export interface Waiting {
  /** The subject of the sentences shown to the operator. */
  readonly what: string;
  /** Who holds the lock. */
  readonly whom: () => string;
}

/**
 * A session that waits for a table lock blocks all later sessions, even readers. So each attempt waits only briefly,
 * then releases the queue behind it and retries with backoff until the patience ends.
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
        throw new Refusal(`${what} failed: it timed out waiting for ${whom()}. Nothing was changed; try again.`);
      }
      say(`${what} waits for ${whom()}. It lets other sessions go first and retries in ${pauseMs / 1_000} s.`);
      await sleep(pauseMs);
    }
  }
}
