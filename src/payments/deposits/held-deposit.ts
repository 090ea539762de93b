import type { UnderWayOf } from '../../accounts/closing/on-account-closing.ts';
import type { Arrival } from '../../custody/watch/read-transfers.ts';
import type { Database, Queryable } from '../../kernel/db/database.ts';
import { Refusal } from '../../kernel/refusal.ts';
import type { ChainId } from '../../money/catalogue.ts';

/** Held deposits and debts for reversed ones keep an account from closing. */
export const depositsUnderWay: UnderWayOf = async (tx, accountId) => {
  const { rows } = await tx.query<{ kind: string; id: string }>(
    `SELECT 'deposit' AS kind, id FROM held_deposits WHERE account_id = $1 AND rejected_at IS NULL
     UNION ALL
     SELECT 'debt', deposit_id FROM deposit_reversals WHERE account_id = $1 AND owed > settled
     LIMIT 100`,
    [accountId],
  );
  return rows;
};

/** A transfer seen on a chain that is not credited yet, or that the operator has rejected. */
export interface HeldDeposit {
  readonly id: string;
  readonly chain: ChainId;
  readonly arrival: Arrival;
  readonly because: string;
  /** The last reason that was logged. */
  readonly told: string | null;
  readonly seenAt: Date;
  readonly releasedAt: Date | null;
  readonly rejectedAt: Date | null;
}

/** Released deposits, and undecided ones that are due for a check. */
export async function listDue(db: Queryable, chain: ChainId, limit: number): Promise<HeldDeposit[]> {
  return selectHeld(
    db,
    `WHERE chain = $1 AND rejected_at IS NULL AND (released_at IS NOT NULL OR look_after <= clock_timestamp())
      ORDER BY released_at IS NULL, look_after LIMIT $2`,
    [chain, limit],
  );
}

/** Whether a deposit waits for a node or for the operator. */
export async function isAnyHeld(db: Queryable, chain: ChainId): Promise<boolean> {
  const { rows } = await db.query('SELECT FROM held_deposits WHERE chain = $1 AND rejected_at IS NULL LIMIT 1', [
    chain,
  ]);
  return rows.length > 0;
}

export async function findHeld(
  db: Queryable,
  id: string,
  lock: 'lock' | 'look' = 'look',
): Promise<HeldDeposit | undefined> {
  return (await selectHeld(db, `WHERE id = $1${lock === 'lock' ? ' FOR UPDATE' : ''}`, [id]))[0];
}

/** Rejected ones come last, so that they never push waiting ones off the list. */
export async function listHeld(db: Queryable): Promise<HeldDeposit[]> {
  return selectHeld(db, 'ORDER BY rejected_at IS NOT NULL, id LIMIT 1000');
}

async function selectHeld(db: Queryable, where: string, values: readonly unknown[] = []): Promise<HeldDeposit[]> {
  const { rows } = await db.query<Omit<HeldDeposit, 'arrival'> & Arrival>(
    `SELECT id, chain, tx_hash, position, block_number, account_id, address AS recipient, sender, asset, atomic, proofs, because,
        told, seen_at, released_at, rejected_at
      FROM held_deposits ${where}`,
    values,
  );
  return rows.map(({ id, chain, because, told, seenAt, releasedAt, rejectedAt, ...arrival }) => ({
    id,
    chain,
    because,
    told,
    seenAt,
    releasedAt,
    rejectedAt,
    arrival: { ...arrival, depositId: id },
  }));
}

/** Whether a held deposit carries one of these proofs. */
export async function isHeldFor(db: Queryable, chain: ChainId, proofs: readonly string[]): Promise<boolean> {
  const { rows } = await db.query(
    'SELECT FROM held_deposits WHERE chain = $1 AND rejected_at IS NULL AND proofs && $2 LIMIT 1',
    [chain, proofs],
  );
  return rows.length > 0;
}

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
