import type { Queryable } from '../../kernel/db/database.ts';
import { activeStates, type Saga } from '../../kernel/sagas/define-saga.ts';
import { wakeSagas } from '../../kernel/sagas/wake-saga.ts';

export interface FrozenKey {
  readonly accountId: bigint;
  readonly key: string;
}

/**
 * Wakes the open sagas of a frozen key and of all keys below it, so that they stop now and not when they look next. Call it
 * after the commit of the freeze: a job that ran before it would find the key unfrozen.
 */
export async function wakeSagasOfFrozen(
  db: Queryable,
  sagas: readonly Saga[],
  { accountId, key }: FrozenKey,
): Promise<void> {
  for (const saga of sagas) {
    if (!saga.fixed.includes('key_id')) continue;
    const { rows } = await db.query<{ id: string; lane: string }>(
      `SELECT id, lane FROM (SELECT id, key_id, ${saga.lane} AS lane FROM ${saga.table}
                              WHERE account_id = $1 AND finished_at IS NULL AND status = ANY ($2)) open
        WHERE key_id IN (SELECT k.id FROM api_keys k JOIN api_keys frozen ON frozen.place = ANY (k.path)
                          WHERE frozen.id = $3 AND k.account_id = $1)`,
      [accountId, activeStates(saga), key],
    );
    for (const lane of new Set(rows.map((row) => row.lane))) {
      const open = rows.filter((row) => row.lane === lane).map(({ id }) => ({ saga: saga.name, id }));
      await wakeSagas(db, lane, open);
    }
  }
}
