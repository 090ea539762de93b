import { type ChainStep, listSteps } from './chain-step.ts';
import type { ChainStepParts } from './parts.ts';

/** How long to wait before what was refused is asked for anew: longer each time. */
const pauseMs = { first: 60_000, most: 60 * 60_000 };

/** A step that is asked for under another key when it was refused: the first is called by its name alone, the others are numbered. */
export function numberedStep(name: string, time: number): string {
  return time <= 1 ? name : `${name}_${time}`;
}

/** How often it was asked for so far; none when it was never planned. */
export async function timesPlanned(
  { db }: Pick<ChainStepParts, 'db'>,
  { sagaId, name }: { readonly sagaId: string; readonly name: string },
): Promise<number> {
  const isOne = ({ step }: Pick<ChainStep, 'step'>) =>
    step === name || (step.startsWith(`${name}_`) && /^\d+$/.test(step.slice(name.length + 1)));
  return (await listSteps(db, sagaId)).filter(isOne).length;
}

/** What its saga says meanwhile; the operator is told. */
export function waitToAskAnew(time: number, waitsFor: string) {
  const lookAgainInMs = Math.min(pauseMs.most, pauseMs.first * 2 ** Math.min(time - 1, 16));
  return { lookAgainInMs, waitsFor, isTrouble: true } as const;
}
