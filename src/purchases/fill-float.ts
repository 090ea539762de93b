import { z } from 'zod';
import { takeSpare } from '../chain-steps/take-spare.ts';
import { homeChain } from '../chains/chains.ts';
import type { Networks } from '../chains/network.ts';
import type { Database, Queryable } from '../db/database.ts';
import { defineJob, enqueue, handleJob, type JobHandler } from '../jobs/define-job.ts';
import type { Schedule } from '../jobs/worker.ts';
import type { Amount } from '../money/amount.ts';
import { beginHouseMove } from '../treasury/house-move.ts';
import { freeOf, readFloat } from './float.ts';
import { meansOf } from './parts.ts';

export interface FillParts {
  readonly db: Database;
  readonly networks: Networks;
  /** What it is filled up to. */
  readonly float: Amount;
}

const fillJob = defineJob({ name: 'fill_float', payload: z.unknown(), maxAttempts: 1 });
const fillByTheClockJob = defineJob({ name: 'fill_float_by_the_clock', payload: z.unknown(), maxAttempts: 1 });

/** Soon, once the caller's commit is there; however many ask. */
export async function askForFloat(tx: Queryable): Promise<void> {
  await enqueue(tx, fillJob, {}, { key: fillJob.name });
}

export function fillFloatHandler(parts: FillParts): JobHandler {
  return handleJob(fillJob, () => fillFloat(parts));
}

export function fillFloatSchedule(parts: FillParts): Schedule {
  return { at: '* * * * *', handler: handleJob(fillByTheClockJob, () => fillFloat(parts)) };
}

/**
 * What users own lies in the treasury, and what they pay sellers leaves another wallet: when less than half of the float is free,
 * the treasury fills it up, with what it can spare. It is one move at a time, and the money stays ours on the way.
 */
export async function fillFloat(parts: FillParts): Promise<void> {
  const { db, networks, float: target } = parts;
  const float = await readFloat(parts);
  const free = await freeOf(db, float);
  if (free >= target.atomic / 2n) return;
  const { token } = meansOf(networks);
  const missing = target.atomic - free;
  await takeSpare(parts, { chain: homeChain, asset: token.asset }, (tx, treasury, spare) =>
    beginHouseMove(tx, { from: treasury, to: float.wallet, token, atomic: spare < missing ? spare : missing }),
  );
}
