import type { Database, Transaction } from '../../kernel/db/database.ts';
import { changeState, type StateChange } from '../../kernel/sagas/change-state.ts';
import type { Saga } from '../../kernel/sagas/define-saga.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import { postSurely } from '../../ledger/post-surely.ts';
import type { Posting } from '../../ledger/posting.ts';
import { dropStep, type NewStep, planStep } from './plan-step.ts';
import { settleStep } from './settle-step.ts';
import type { StepEnd } from './take-step.ts';

export interface StepName {
  readonly sagaId: string;
  readonly step: string;
}

/** A step and how it has ended. */
export interface EndedStep extends StepName {
  readonly end: StepEnd;
}

type PlannedStep = Omit<NewStep, 'saga'>;

export interface Advance<State extends string> extends StateChange<State> {
  /** Other writes of the same commit, before those below. */
  readonly alongside?: () => Promise<unknown>;
  /** A function reads what it needs after the guarded change. */
  readonly plan?: readonly PlannedStep[] | (() => Promise<readonly PlannedStep[]>);
  readonly settle?: readonly EndedStep[];
  /** Steps that were never submitted and are no longer needed. */
  readonly drop?: readonly StepName[];
  /** Posted with the gas of the settled steps, after all other writes, because a posting locks balances. */
  readonly post?: readonly Posting[] | (() => Promise<readonly Posting[]>);
}

/**
 * Changes the state of a saga with everything that follows from it, in the caller's commit. The guarded change comes first: it locks
 * the row, so of several processes only one settles the steps and posts. The others get false and must change nothing.
 */
export async function advanceSaga<State extends string>(
  tx: Transaction,
  ledger: Ledger,
  saga: Saga<State>,
  { alongside, settle = [], drop = [], plan = [], post = [], ...change }: Advance<NoInfer<State>>,
): Promise<boolean> {
  if (!(await changeState(tx, saga, change))) return false;
  await alongside?.();
  for (const step of typeof plan === 'function' ? await plan() : plan) await planStep(tx, { saga: saga.name, ...step });
  const gas: Posting[] = [];
  for (const { end, ...step } of settle) gas.push(...((await settleStep(tx, step, end)) ?? []));
  for (const step of drop) await dropStep(tx, step);
  const postings = typeof post === 'function' ? await post() : post;
  await postSurely(tx, ledger, [...postings, ...gas]);
  return true;
}

/**
 * Settles a step that has failed and plans its next attempt under a new key, in one commit. Does nothing when another process has
 * settled it.
 */
export async function planRetry(
  { db, ledger }: { readonly db: Database; readonly ledger: Ledger },
  { end, ...failed }: EndedStep,
  retry: (tx: Transaction) => Promise<NewStep>,
): Promise<void> {
  await db.transaction(async (tx) => {
    const gas = await settleStep(tx, failed, end);
    if (gas === undefined) return;
    await planStep(tx, await retry(tx));
    await postSurely(tx, ledger, gas);
  });
}
