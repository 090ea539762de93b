import type { Asset } from '../../money/catalogue.ts';
import type { Queryable } from '../db/database.ts';

/** One state of a saga. A state without successors is an end. */
export interface SagaState<PublicName extends string = string> {
  /** The states that may come next. The database refuses any other transition. */
  readonly next: readonly string[];
  /** For the operator's list and the diagram in the README. */
  readonly meaning: string;
  /** The status that the API shows. Several states may share one. */
  readonly publicName?: PublicName;
  /** What the API reference says about that status. One of the states that share it has it. */
  readonly publicMeaning?: string;
  /** After this long the saga is stuck, and an operator is alerted. A state without a bound waits for a person. */
  readonly withinMs?: number;
  /** The saga does nothing here until a person decides. */
  readonly rests?: true;
}

/** How the crash test starts one in the sandbox. */
type Rehearsal =
  /** A request of an account that was funded on the home chain, in USDC unless `funded` says otherwise. `{outside}` is an external address. */
  | {
      readonly request: { readonly path: string; readonly body: Readonly<Record<string, unknown>> };
      readonly funded?: Asset;
    }
  /** A deposit of this asset starts it. */
  | { readonly deposit: Asset }
  /** The path of a call that an external wallet pays for. */
  | { readonly call: string }
  /** Operator commands. */
  | { readonly commands: readonly (readonly string[])[] };

/**
 * A saga is a row with a state, and steps that any process may run again. From this declaration come its job, its resumption, the guard
 * in the database, the operator's list, its diagram, its public statuses and its crash test.
 *
 * Its table has the columns id, status, status_since, waits_for, created_at, updated_at and finished_at, and the guard as
 * a trigger: `… EXECUTE FUNCTION guard_saga('<name>')`.
 */
export interface Saga<State extends string = string, PublicName extends string = string> {
  /** In the singular. */
  readonly name: string;
  readonly table: string;
  /** In the order in which the API lists their public names. */
  readonly states: Readonly<Record<State, SagaState<PublicName>>>;
  /** The columns of the request. They never change. */
  readonly fixed: readonly string[];
  /** The bound for the whole saga, where it can alternate between states that each stay within theirs. */
  readonly withinMs?: number;
  /** SQL: the lane of its job, so that one silent chain does not delay the others. */
  readonly lane: string;
  /** The lanes that are not chains. */
  readonly ownLanes?: readonly string[];
  /** SQL: the operator's summary, such as the amount and the destination. */
  readonly about: string;
  /** The kind of its in-transit account, and SQL for the amount and the chain that an open row accounts for. */
  readonly inTransit?: { readonly kind: string; readonly atomic: string; readonly chain: string };
  /** The names of all places between two steps, in the usual order. */
  readonly checkpoints: readonly string[];
  readonly rehearsal: Rehearsed<State>;
  /** Other paths, each with the checkpoints to try on it. */
  readonly otherRehearsals?: readonly (Rehearsed<State> & { readonly checkpoints: readonly string[] })[];
}

type Rehearsed<State extends string> = Rehearsal & {
  readonly endsAs: State;
  /** Wallet providers that do not support it. */
  readonly notWith?: readonly string[];
};

export function defineSaga<const States extends Readonly<Record<string, SagaState>>>(
  saga: Omit<Saga, 'states' | 'rehearsal' | 'otherRehearsals'> & {
    readonly states: States;
    readonly rehearsal: Saga<Extract<keyof States, string>>['rehearsal'];
    readonly otherRehearsals?: Saga<Extract<keyof States, string>>['otherRehearsals'];
  },
): Saga<Extract<keyof States, string>, PublicNames<States>> {
  for (const [state, { next }] of Object.entries(saga.states)) {
    const unknown = next.find((name) => !Object.hasOwn(saga.states, name));
    if (unknown !== undefined) throw new TypeError(`${saga.name} cannot go from ${state} to ${unknown}`);
  }
  return saga as unknown as Saga<Extract<keyof States, string>, PublicNames<States>>;
}

type PublicNames<States> = {
  [State in keyof States]: States[State] extends { readonly publicName: infer Name extends string } ? Name : never;
}[keyof States];

export function isEnd({ next }: SagaState): boolean {
  return next.length === 0;
}

/** The states in which the saga has something to do. */
export function activeStates({ states }: Saga): string[] {
  return Object.entries(states)
    .filter(([, state]) => !isEnd(state) && !state.rests)
    .map(([name]) => name);
}

/** SQL: an amount in decimal text, from a column of atomic units. */
export function amountSql(atomic: string, asset: string): string {
  return `trim_scale(${atomic} / 10::numeric ^ (SELECT a.decimals FROM ledger.assets a WHERE a.symbol = ${asset})) || ' ' || ${asset}`;
}

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
