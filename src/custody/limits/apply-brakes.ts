import type { Hex } from 'viem';
import type { Transaction } from '../../kernel/db/database.ts';
import { lockUntilCommit } from '../../kernel/db/locks.ts';
import { refuseNotAllowed } from './allow-list.ts';
import type { Brakes } from './brakes.ts';
import { refuseBeyondDay } from './daily-limit.ts';

/** Money of an account that is to leave for an address that whoever asks has chosen. */
export interface Leaving {
  readonly accountId: bigint;
  readonly address: Hex;
  /** In millionths of a USDC. */
  readonly value: bigint;
}

/**
 * Refuses what the account's allow-list or its daily limit speaks against. Part of the commit that takes the money from the balance:
 * the lock lasts until then, so that of many at once each sees those before it, and a list that was switched on holds for all
 * that come after.
 */
export async function applyBrakes(tx: Transaction, brakes: Brakes, leaving: Leaving): Promise<void> {
  await lockSending(tx, leaving.accountId);
  await refuseNotAllowed(tx, leaving);
  await refuseBeyondDay(tx, brakes, leaving);
}

/** Whoever sends something outside, or changes where it may go, waits here for the others. */
export async function lockSending(tx: Transaction, accountId: bigint): Promise<void> {
  await lockUntilCommit(tx, { kind: 'sentOutside', of: String(accountId) });
}
