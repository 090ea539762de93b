import type { Transaction } from '../../kernel/db/database.ts';
import { changeState, type StateChange } from '../../kernel/sagas/change-state.ts';
import type { Saga } from '../../kernel/sagas/define-saga.ts';
import { type Ledger, postOrThrow } from '../../ledger/ledger.ts';
import type { Posting } from '../../ledger/posting.ts';
import { type ChainStep, type ChainStepParts, listSteps, type SagaParts, type StepName } from './chain-step.ts';
import { dropStep, type NewStep, planStep } from './plan-step.ts';
import { settleStep } from './settle-step.ts';
import type { StepEnd } from './take-step.ts';

/** Backoff before a refused step is retried. */
const pauseMs = { first: 60_000, most: 60 * 60_000 };

/** Each attempt has its own key. The first has the plain name, the others a number. */
export function numberedStep(name: string, time: number): string {
  return time <= 1 ? name : `${name}_${time}`;
}

/** The number of attempts so far; 0 when the step was never planned. */
export async function countAttempts(
  { db }: Pick<ChainStepParts, 'db'>,
  { sagaId, name }: { readonly sagaId: string; readonly name: string },
): Promise<number> {
  const isOne = ({ step }: Pick<ChainStep, 'step'>) =>
    step === name || (step.startsWith(`${name}_`) && /^\d+$/.test(step.slice(name.length + 1)));
  return (await listSteps(db, sagaId)).filter(isOne).length;
}

export function retryLater(time: number, waitsFor: string) {
  const lookAgainInMs = Math.min(pauseMs.most, pauseMs.first * 2 ** Math.min(time - 1, 16));
  return { lookAgainInMs, waitsFor, isTrouble: true } as const;
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
  await postOrThrow(tx, ledger, [...postings, ...gas]);
  return true;
}

/**
 * Settles a step that has failed and plans its next attempt under a new key, in one commit. Does nothing when another process has
 * settled it.
 */
export async function planRetry(
  { db, ledger }: Pick<SagaParts, 'db' | 'ledger'>,
  { end, ...failed }: EndedStep,
  retry: (tx: Transaction) => Promise<NewStep>,
): Promise<void> {
  await db.transaction(async (tx) => {
    const gas = await settleStep(tx, failed, end);
    if (gas === undefined) return;
    await planStep(tx, await retry(tx));
    await postOrThrow(tx, ledger, gas);
  });
}
