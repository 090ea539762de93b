import { type ChainStep, findStep } from './chain-step.ts';
import { isFirstInLine, type Line, type LiquidityParts, serveLiquidity } from './serve-liquidity.ts';

/** How often the first in line checks the treasury. */
const patienceMs = 2_000;

/** The others are woken when they are served, and check by themselves only in case that fails. */
const behindMs = 30_000;

/** Waits in line for the treasury's tokens. The first in line serves all. Undefined when the step has its tokens. */
export async function awaitLiquidity(
  parts: LiquidityParts,
  which: Pick<ChainStep, 'sagaId' | 'step'>,
  line: Line,
): Promise<{ readonly lookAgainInMs: number; readonly waitsFor: string } | undefined> {
  const { db } = parts;
  let step = await findStep(db, which);
  const isFirst = step?.state === 'waiting' && (await isFirstInLine(db, line, step.id));
  if (isFirst) {
    await serveLiquidity(parts, { ...line, caller: which.sagaId });
    step = await findStep(db, which);
  }
  if (step !== undefined && step.state !== 'waiting') return undefined;
  const lookAgainInMs = (isFirst ? patienceMs : behindMs) * (0.5 + Math.random());
  return { lookAgainInMs, waitsFor: `${line.asset} to reach the treasury` };
}
