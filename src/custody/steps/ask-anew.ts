import { type ChainStep, listSteps } from './chain-step.ts';
import type { ChainStepParts } from './parts.ts';

/** Backoff before a refused step is retried. */
const pauseMs = { first: 60_000, most: 60 * 60_000 };

/** Each attempt has its own key. The first has the plain name, the others a number. */
export function numberedStep(name: string, time: number): string {
  return time <= 1 ? name : `${name}_${time}`;
}

/** The number of attempts so far; 0 when the step was never planned. */
export async function timesPlanned(
  { db }: Pick<ChainStepParts, 'db'>,
  { sagaId, name }: { readonly sagaId: string; readonly name: string },
): Promise<number> {
  const isOne = ({ step }: Pick<ChainStep, 'step'>) =>
    step === name || (step.startsWith(`${name}_`) && /^\d+$/.test(step.slice(name.length + 1)));
  return (await listSteps(db, sagaId)).filter(isOne).length;
}

export function waitToAskAnew(time: number, waitsFor: string) {
  const lookAgainInMs = Math.min(pauseMs.most, pauseMs.first * 2 ** Math.min(time - 1, 16));
  return { lookAgainInMs, waitsFor, isTrouble: true } as const;
}
