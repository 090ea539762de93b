import type { Queryable } from '../db/database.ts';
import { isEnd, type Saga } from './define-saga.ts';

export interface StateChange<State extends string> {
  readonly id: string;
  /** The state, or the states, that the row must still be in. */
  readonly from: State | readonly State[];
  readonly to: State;
  /** Columns to write, by their names in camelCase. */
  readonly set?: Readonly<Record<string, unknown>>;
  /** Columns that must still have these values: a saga that can return to a state counts its rounds. */
  readonly where?: Readonly<Record<string, unknown>>;
}

/**
 * Moves a saga from one state to another, unless another process was faster: then no row matches and the answer is false. A state
 * without successors finishes the saga. The database refuses a transition that the saga does not declare.
 */
export async function changeState<State extends string>(
  tx: Queryable,
  { table, states }: Saga<State>,
  { id, from, to, set = {}, where = {} }: StateChange<NoInfer<State>>,
): Promise<boolean> {
  const values: unknown[] = [id, [from].flat(), to];
  const equals = (columns: Readonly<Record<string, unknown>>) =>
    Object.entries(columns).map(([name, value]) => `${columnOf(name)} = $${values.push(value)}`);
  const assignments = [
    'status = $3',
    'updated_at = clock_timestamp()',
    ...(isEnd(states[to]) ? ['finished_at = clock_timestamp()'] : []),
    ...equals(set),
  ];
  const conditions = ['id = $1', 'status = ANY ($2)', ...equals(where)];
  const { rowCount } = await tx.query(
    `UPDATE ${table} SET ${assignments.join(', ')} WHERE ${conditions.join(' AND ')}`,
    values,
  );
  return rowCount === 1;
}

const columnOf = (name: string) => name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
