import type { Queryable } from '../db/database.ts';
import type { Saga } from './define-saga.ts';

/** Writes the declarations that `guard_saga` enforces. */
export async function declareSagas(db: Queryable, sagas: readonly Saga[]): Promise<void> {
  for (const { name, states, fixed } of sagas) {
    const next = Object.fromEntries(Object.entries(states).map(([state, { next: after }]) => [state, after]));
    await db.query(
      `INSERT INTO sagas AS known (name, states, fixed) VALUES ($1, $2, $3)
       ON CONFLICT (name) DO UPDATE SET states = excluded.states, fixed = excluded.fixed
        WHERE (known.states, known.fixed) IS DISTINCT FROM (excluded.states, excluded.fixed)`,
      [name, JSON.stringify(next), fixed],
    );
  }
}
