import { onlyRow, type Queryable, type Transaction } from '../db/database.ts';
import { lockUntilCommit } from '../db/locks.ts';
import { leftWithinHour } from './sent-outside.ts';

/** What has left within the last hour, of all accounts, in millionths of a USDC. */
export async function readLeftWithinHour(db: Queryable): Promise<bigint> {
  return BigInt(onlyRow(await db.query<{ value: string }>(leftWithinHour)).value);
}

/**
 * Whoever lets something go waits for the others until they have committed, so that two at once do not both find the same room.
 * It comes before every lock on a row: whoever has one of those never waits for this.
 */
export async function lockHour(tx: Transaction): Promise<void> {
  await lockUntilCommit(tx, 'hourlyLimit');
}

/** Whether so much more may leave within this hour. Under the lock. */
export async function fitsIntoHour(tx: Transaction, perHour: bigint, value: bigint): Promise<boolean> {
  return (await readLeftWithinHour(tx)) + value <= perHour;
}
