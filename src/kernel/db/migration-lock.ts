import { setTimeout as sleep } from 'node:timers/promises';
import type pg from 'pg';
import { Refusal } from '../refusal.ts';
import { tryHoldLock } from './locks.ts';

/** How migrations wait, and whom they tell. */
export interface MigrationPatience {
  /** How long one statement waits for one lock: for so long everybody who comes later waits behind it. */
  readonly lockMs: number;
  /** How long it goes on letting everybody past and trying again. */
  readonly patienceMs: number;
  readonly say: (line: string) => void;
}

export const usualPatience: MigrationPatience = { lockMs: 2_000, patienceMs: 600_000, say: () => {} };

const askEveryMs = 100;

/** One process changes the schema at a time. Until the session ends it is this one. */
export async function holdMigrationLock(
  session: pg.Client,
  { patienceMs, say }: Pick<MigrationPatience, 'patienceMs' | 'say'>,
): Promise<void> {
  const deadline = performance.now() + patienceMs;
  for (let told = false; !(await tryHoldLock(session, 'migrations')); told = true) {
    if (performance.now() > deadline)
      throw new Refusal('Another process is at the schema of the database, and does not end.');
    if (!told) say('Another process is at the schema of the database: waiting for it …');
    await sleep(askEveryMs);
  }
}
