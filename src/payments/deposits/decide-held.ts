import type { Database } from '../../kernel/db/database.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { findHeld, type HeldDeposit } from './held-deposit.ts';

/** The loop over held deposits credits it, and nothing else does, so it is credited once. */
export function releaseHeld(db: Database, id: string): Promise<void> {
  return db.transaction(async (tx) => {
    refuseDecided(id, await findHeld(tx, id, 'lock'));
    await tx.query('UPDATE held_deposits SET released_at = clock_timestamp() WHERE id = $1', [id]);
  });
}

/** The row stays, so that the deposit is not credited when its block is read again. */
export function rejectHeld(db: Database, id: string): Promise<void> {
  return db.transaction(async (tx) => {
    refuseDecided(id, await findHeld(tx, id, 'lock'));
    await tx.query('UPDATE held_deposits SET rejected_at = clock_timestamp() WHERE id = $1', [id]);
  });
}

function refuseDecided(id: string, held: HeldDeposit | undefined): void {
  if (held === undefined) throw new Refusal(`${id} is not held.`);
  if (held.rejectedAt !== null) throw new Refusal(`${id} was already rejected at ${held.rejectedAt.toISOString()}.`);
  if (held.releasedAt !== null) throw new Refusal(`${id} was already released at ${held.releasedAt.toISOString()}.`);
}
