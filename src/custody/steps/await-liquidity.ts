import { type ChainStep, findStep } from './chain-step.ts';
import { isFirstInLine, type Line, type LiquidityParts, serveLiquidity } from './serve-liquidity.ts';

/** How long whoever is first in line waits for money to arrive in the treasury. */
const patienceMs = 2_000;

/** Whoever is not the first is woken when it is served. */
const behindMs = 30_000;

/**
 * A step that waits in line for the treasury's tokens. Whoever is first serves all; the others are woken when they are
 * served. Undefined when it has got them.
 */
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
