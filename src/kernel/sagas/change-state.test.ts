import { expect, test } from 'vitest';
import type { Queryable } from '../db/database.ts';
import { changeState } from './change-state.ts';
import { defineSaga } from './define-saga.ts';

const errand = defineSaga({
  name: 'errand',
  table: 'errands',
  lane: 'place',
  about: 'what',
  fixed: [],
  states: {
    planned: { meaning: '', next: ['gone'] },
    gone: { meaning: '', next: ['planned', 'done'] },
    done: { meaning: '', next: [] },
  },
  checkpoints: [],
  rehearsal: { commands: [['errand']], endsAs: 'done' },
});

function recorder(rowCount: number) {
  const queries: { readonly text: string; readonly values: readonly unknown[] | undefined }[] = [];
  const query = async (text: string, values?: readonly unknown[]) => {
    queries.push({ text, values });
    return { rowCount };
  };
  return { queries, db: { query } as unknown as Queryable };
}

test('the change is guarded by the state and by further columns', async () => {
  const { db, queries } = recorder(1);
  const change = { id: 'e1', from: 'gone', where: { rounds: 1 }, to: 'planned', set: { wentAt: null } } as const;
  expect(await changeState(db, errand, change)).toBe(true);
  expect(queries).toEqual([
    {
      text: 'UPDATE errands SET status = $3, updated_at = clock_timestamp(), went_at = $4 WHERE id = $1 AND status = ANY ($2) AND rounds = $5',
      values: ['e1', ['gone'], 'planned', null, 1],
    },
  ]);
});

test('a state without successors finishes the saga', async () => {
  const { db, queries } = recorder(1);
  await changeState(db, errand, { id: 'e1', from: ['planned', 'gone'], to: 'done' });
  expect(queries[0]?.text).toContain('finished_at = clock_timestamp()');
});

test('the slower of two processes gets false', async () => {
  expect(await changeState(recorder(0).db, errand, { id: 'e1', from: 'planned', to: 'gone' })).toBe(false);
});

test('a state that the saga does not declare is a type error', () => {
  const { db } = recorder(1);
  // @ts-expect-error
  void (() => changeState(db, errand, { id: 'e1', from: 'planned', to: 'lost' }));
});
