import { z } from 'zod';
import { waitedFor } from '../../custody/steps/serve-liquidity.ts';
import { takeSpare } from '../../custody/steps/take-spare.ts';
import { beginHouseMove } from '../../custody/treasury/house-move.ts';
import { houseWallet } from '../../custody/wallets/house-wallets.ts';
import type { Queryable } from '../../kernel/db/database.ts';
import { defineJob, enqueue, handleJob, type JobHandler } from '../../kernel/jobs/define-job.ts';
import type { Schedule } from '../../kernel/jobs/worker.ts';
import { homeChain } from '../../money/catalogue.ts';
import { freeOf, freeUntilCommit, readFloat, readRetiredFloat } from './float.ts';
import { meansOf, type PurchaseParts } from './parts.ts';

export type FillParts = Pick<PurchaseParts, 'db' | 'networks' | 'float'>;

const fillJob = defineJob({ name: 'fill_float', payload: z.unknown(), maxAttempts: 1 });
const fillByTheClockJob = defineJob({ name: 'fill_float_by_the_clock', payload: z.unknown(), maxAttempts: 1 });

/** Runs after the caller's commit; concurrent requests share one job. */
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
 * Users' money is in the treasury, but payments to sellers leave another wallet. When less than half of the float is
 * free, the treasury refills it, up to half of what both hold. When a withdrawal waits for the treasury's tokens, the
 * float returns what is free. One move at a time in each direction.
 */
export async function fillFloat(parts: FillParts): Promise<void> {
  const waited = await waitedFor(parts.db, homeChain, 'USDC');
  if (waited > 0n) await giveBack(parts, waited);
  else await fill(parts);
}

async function fill(parts: FillParts): Promise<void> {
  const { db, networks, float: target } = parts;
  const float = await readFloat(parts);
  // The balance of retired wallets is being moved to this one.
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
