import { z } from 'zod';
import type { Networks } from '../../chains/network.ts';
import { waitedFor } from '../../custody/steps/serve-liquidity.ts';
import { takeSpare } from '../../custody/steps/take-spare.ts';
import { beginHouseMove } from '../../custody/treasury/house-move.ts';
import { houseWallet } from '../../custody/wallets/house-wallets.ts';
import type { Database, Queryable } from '../../kernel/db/database.ts';
import { defineJob, enqueue, handleJob, type JobHandler } from '../../kernel/jobs/define-job.ts';
import type { Schedule } from '../../kernel/jobs/worker.ts';
import type { Amount } from '../../money/amount.ts';
import { homeChain } from '../../money/catalogue.ts';
import { freeOf, freeUntilCommit, readFloat, readRetiredFloat } from './float.ts';
import { meansOf } from './parts.ts';

export interface FillParts {
  readonly db: Database;
  readonly networks: Networks;
  /** What it is filled up to at most. */
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
 * What users own lies in the treasury, and what they pay sellers leaves another wallet. When less than half of the float is free,
 * the treasury fills it up, but never beyond half of what both have; when somebody waits for the treasury's tokens, it gives back
 * what is free. It is one move at a time for each, and the money stays ours on the way.
 */
export async function fillFloat(parts: FillParts): Promise<void> {
  const waited = await waitedFor(parts.db, homeChain, 'USDC');
  if (waited > 0n) await giveBack(parts, waited);
  else await fill(parts);
}

async function fill(parts: FillParts): Promise<void> {
  const { db, networks, float: target } = parts;
  const float = await readFloat(parts);
  // What retired wallets hold is on its way to this one.
  const free = (await freeOf(db, float)) + (await readRetiredFloat(parts));
  if (free >= target.atomic / 2n) return;
  const { token } = meansOf(networks);
  await takeSpare(parts, { chain: homeChain, asset: token.asset }, async (tx, treasury, spare) => {
    const share = (spare + free) / 2n;
    const level = share < target.atomic ? share : target.atomic;
    if (free >= level / 2n) return;
    await beginHouseMove(tx, { from: treasury, to: float.wallet, token, atomic: level - free });
  });
}

async function giveBack(parts: FillParts, waited: bigint): Promise<void> {
  const { db, networks } = parts;
  const float = await readFloat(parts);
  const { token } = meansOf(networks);
  await db.transaction(async (tx) => {
    const free = await freeUntilCommit(tx, float);
    if (free === undefined || free <= 0n) return;
    const to = await houseWallet(tx, 'treasury', homeChain);
    await beginHouseMove(tx, { from: float.wallet, to, token, atomic: waited < free ? waited : free });
  });
}
