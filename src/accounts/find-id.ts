import { type Database, onlyRow } from '../db/database.ts';
import { Refusal } from '../refusal.ts';

/** Whom the operator means by a handle or an email, verified or not. */
export async function findId(db: Database, who: string): Promise<bigint> {
  const result = await db.query<{ id: bigint }>(
    'SELECT id FROM accounts WHERE handle = upper($1) OR email = lower($1)',
    [who],
  );
  if (result.rowCount === 0) throw new Refusal(`No account has the handle or email "${who}".`);
  return onlyRow(result).id;
}
