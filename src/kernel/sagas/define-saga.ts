import type { Asset } from '../../money/catalogue.ts';

/** One state of a saga. A state that nothing may follow is an end. */
export interface SagaState {
  /** The states that may come next. The database refuses any other step. */
  readonly next: readonly string[];
  /** What it means, or what is waited for there, for the diagram and for whoever looks at the list. */
  readonly meaning: string;
  /** How long it may take. After that it is stuck, and an operator is told. A state without a bound waits for a person. */
  readonly withinMs?: number;
  /** Nobody takes a step here by himself: a person decides. */
  readonly rests?: true;
}

/** How one is begun in the sandbox, so that the crash test can, for every saga alike. */
type Rehearsal =
  /** A request of somebody who was funded on the home chain, in USDC if not said otherwise; `{outside}` is an address outside. */
  | {
      readonly request: { readonly path: string; readonly body: Readonly<Record<string, unknown>> };
      readonly funded?: Asset;
    }
  /** Begins by itself with a deposit of so-and-so much of this asset. */
  | { readonly deposit: Asset }
  /** A call that somebody outside pays for with their own wallet; its path. */
  | { readonly call: string }
  /** Commands of the operator. */
  | { readonly commands: readonly (readonly string[])[] };

/**
 * A saga, declared once: a row in a table with a state, and steps that any process may run again. From the declaration come
 * its job, its resumption, the guard in the database, the operator's list, its diagram and its crash test.
 *
 * Its table has the columns id, status, status_since, waits_for, created_at, updated_at and finished_at, and the guard as
 * a trigger: `… EXECUTE FUNCTION guard_saga('<name>')`.
 */
export interface Saga<State extends string = string> {
  /** In the singular, as people are told of it. */
  readonly name: string;
  readonly table: string;
  readonly states: Readonly<Record<State, SagaState>>;
  /** The columns that say what was asked for. They never change. */
  readonly fixed: readonly string[];
  /** How long it may take altogether, where it can go back and forth between states: each of them may be short. */
  readonly withinMs?: number;
  /** SQL: the lane that its job runs in, so that one silent chain holds up no other. */
  readonly lane: string;
  /** The lanes among these that are no chains. */
  readonly ownLanes?: readonly string[];
  /** SQL: what an operator is told of it, such as how much of what and where to. */
  readonly about: string;
  /** What of it stands in transit in the ledger while it is open: the account's kind, and SQL for how much on which chain. */
  readonly inTransit?: { readonly kind: string; readonly atomic: string; readonly chain: string };
  /** Every place between two steps, in the order in which the usual way passes them. */
  readonly checkpoints: readonly string[];
  readonly rehearsal: Rehearsed<State>;
  /** Other ways to go, each with the places that are to be tried there. */
  readonly otherRehearsals?: readonly (Rehearsed<State> & { readonly checkpoints: readonly string[] })[];
}

type Rehearsed<State extends string> = Rehearsal & {
  /** The state that the rehearsal ends in. */
  readonly endsAs: State;
  /** Providers that cannot do it. */
  readonly notWith?: readonly string[];
};

export function defineSaga<const States extends Readonly<Record<string, SagaState>>>(
  saga: Omit<Saga, 'states' | 'rehearsal' | 'otherRehearsals'> & {
    readonly states: States;
    readonly rehearsal: Saga<Extract<keyof States, string>>['rehearsal'];
    readonly otherRehearsals?: Saga<Extract<keyof States, string>>['otherRehearsals'];
  },
): Saga<Extract<keyof States, string>> {
  for (const [state, { next }] of Object.entries(saga.states)) {
    const unknown = next.find((name) => !Object.hasOwn(saga.states, name));
    if (unknown !== undefined) throw new TypeError(`${saga.name} cannot go from ${state} to ${unknown}`);
  }
  return saga as unknown as Saga<Extract<keyof States, string>>;
}

export function isEnd({ next }: SagaState): boolean {
  return next.length === 0;
}

/** The states in which somebody has to go on with it. */
export function activeStates({ states }: Saga): string[] {
  return Object.entries(states)
    .filter(([, state]) => !isEnd(state) && !state.rests)
    .map(([name]) => name);
}

/** SQL: an amount as people write it, from a column of atomic units. */
export function amountSql(atomic: string, asset: string): string {
  return `trim_scale(${atomic} / 10::numeric ^ (SELECT a.decimals FROM ledger.assets a WHERE a.symbol = ${asset})) || ' ' || ${asset}`;
}
