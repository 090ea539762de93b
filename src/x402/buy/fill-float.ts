import { z } from 'zod';
import { balanceOf, promisedSince, queuedLiquidity, takeSpare } from '../../custody/steps/serve-liquidity.ts';
import { beginHouseMove } from '../../custody/treasury/house-move.ts';
import { type HouseWallet, houseWallet, listHouseWallets } from '../../custody/wallets/house-wallets.ts';
import { onlyRow, type Queryable, type Transaction } from '../../kernel/db/database.ts';
import { lockUntilCommit } from '../../kernel/db/locks.ts';
import { defineJob, enqueue, handleJob, type JobHandler } from '../../kernel/jobs/define-job.ts';
import type { Schedule } from '../../kernel/jobs/worker.ts';
import { homeChain } from '../../money/catalogue.ts';
import { homeUsdc, type PurchaseParts } from './purchase.ts';

/** The balance of the wallet that pays sellers, and when it was read. Promises and payments since then are deducted. */
export interface Float {
  readonly wallet: HouseWallet;
  readonly held: bigint;
  readonly readAt: Date;
}

export async function readFloat({ db, networks }: Pick<PurchaseParts, 'db' | 'networks'>): Promise<Float> {
  const { network, token } = homeUsdc(networks);
  const wallet = await houseWallet(db, 'purchases', homeChain);
  const { now } = onlyRow(await db.query<{ now: Date }>('SELECT clock_timestamp() AS now'));
  return { wallet, held: await balanceOf(network, token, wallet), readAt: now };
}

/** The balance of wallets retired by a rotation. */
async function readRetiredFloat({ db, networks }: Pick<PurchaseParts, 'db' | 'networks'>): Promise<bigint> {
  const { network, token } = homeUsdc(networks);
  let sum = 0n;
  for (const wallet of await listHouseWallets(db)) {
    if (wallet.retired && wallet.purpose === 'purchases') sum += await balanceOf(network, token, wallet);
  }
  return sum;
}

/** The part not promised to other purchases. */
async function freeOf(db: Queryable, { wallet, held, readAt }: Float): Promise<bigint> {
  return held - (await promisedSince(db, wallet.id, 'USDC', readAt));
}

/** Locks the float until the commit, against double promises. Undefined when the wallet is being retired. */
export async function freeUntilCommit(tx: Transaction, float: Float): Promise<bigint | undefined> {
  await lockUntilCommit(tx, { kind: 'float', of: float.wallet.id });
  const { rows } = await tx.query('SELECT FROM house_wallets WHERE id = $1 AND retired_at IS NULL FOR SHARE', [
    float.wallet.id,
  ]);
  return rows.length === 0 ? undefined : freeOf(tx, float);
}

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
  const waited = await queuedLiquidity(parts.db, homeChain, 'USDC');
  if (waited > 0n) await giveBack(parts, waited);
  else await fill(parts);
}

async function fill(parts: FillParts): Promise<void> {
  const { db, networks, float: target } = parts;
  const float = await readFloat(parts);
  // The balance of retired wallets is being moved to this one.
  const free = (await freeOf(db, float)) + (await readRetiredFloat(parts));
  if (free >= target.atomic / 2n) return;
  const { token } = homeUsdc(networks);
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
  const { token } = homeUsdc(networks);
  await db.transaction(async (tx) => {
    const free = await freeUntilCommit(tx, float);
    if (free === undefined || free <= 0n) return;
    const to = await houseWallet(tx, 'treasury', homeChain);
    await beginHouseMove(tx, { from: float.wallet, to, token, atomic: waited < free ? waited : free });
  });
}
