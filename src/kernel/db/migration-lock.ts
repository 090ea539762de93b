import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { Refusal } from '../refusal.ts';
import { tryHoldLock } from './locks.ts';

export interface MigrationPatience {
  /** How long one statement waits for a lock. Later sessions queue behind it for as long. */
  readonly lockMs: number;
  /** How long the retries go on. */
  readonly patienceMs: number;
  readonly say: (line: string) => void;
}

export const usualPatience: MigrationPatience = { lockMs: 2_000, patienceMs: 600_000, say: () => {} };

const askEveryMs = 100;

/** Lets one process at a time change the schema. The lock lasts until the session ends. */
export async function holdMigrationLock(
  session: pg.Client,
  { patienceMs, say }: Pick<MigrationPatience, 'patienceMs' | 'say'>,
): Promise<void> {
  const deadline = performance.now() + patienceMs;
  for (let told = false; !(await tryHoldLock(session, 'migrations')); told = true) {
    if (performance.now() > deadline)
      throw new Refusal(
        'Another process has been changing the database schema for too long. Stop it, or wait for it and try again.',
      );
    if (!told) say('Another process is changing the database schema. Waiting for it …');
    await sleep(askEveryMs);
  }
}
