import type { Database } from '../../kernel/db/database.ts';
import type { Saga } from '../../kernel/sagas/define-saga.ts';
import { listOpenSagas } from '../../kernel/sagas/list-sagas.ts';

/** Sagas that are in one state for longer than it may take. States that wait for the operator have no limit. */
export async function findStuck({
  db,
  sagas,
  laterMs,
}: {
  readonly db: Database;
  readonly sagas: readonly Saga[];
  readonly laterMs?: number;
}): Promise<string[]> {
  const stuck = (await listOpenSagas(db, sagas, { laterMs })).filter((one) => one.stuck);
  return stuck.map(
    ({ saga, id, about, status, since, waitsFor }) =>
      `${saga} ${id} (${about}) is ${status} since ${since.toISOString()}: ${waitsFor}.`,
  );
}
