import type { Database } from '../../kernel/db/database.ts';
import { Refusal } from '../../kernel/refusal.ts';
import { findHeld, type HeldDeposit } from './held-deposit.ts';

/** The operator believes it. Whoever looks at what is held credits it, and nobody else: so it is credited once. */
export function releaseHeld(db: Database, id: string): Promise<void> {
  return db.transaction(async (tx) => {
    refuseDecided(id, await findHeld(tx, id, 'lock'));
    await tx.query('UPDATE held_deposits SET released_at = clock_timestamp() WHERE id = $1', [id]);
  });
}

/** The operator does not believe it. It stays, so that it is not credited when it is read again. */
export function rejectHeld(db: Database, id: string): Promise<void> {
  return db.transaction(async (tx) => {
    refuseDecided(id, await findHeld(tx, id, 'lock'));
    await tx.query('UPDATE held_deposits SET rejected_at = clock_timestamp() WHERE id = $1', [id]);
  });
}

function refuseDecided(id: string, held: HeldDeposit | undefined): void {
  if (held === undefined) throw new Refusal(`${id} is not held.`);
  if (held.rejectedAt !== null) throw new Refusal(`${id} was rejected already, at ${held.rejectedAt.toISOString()}.`);
  if (held.releasedAt !== null) throw new Refusal(`${id} was released already, at ${held.releasedAt.toISOString()}.`);
}
