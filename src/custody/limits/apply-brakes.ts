import type { Hex } from 'viem';
import type { Transaction } from '../../kernel/db/database.ts';
import { lockUntilCommit } from '../../kernel/db/locks.ts';
import { refuseNotAllowed } from './allow-list.ts';
import type { Brakes } from './brakes.ts';
import { refuseBeyondDay } from './daily-limit.ts';

/** A payment from an account to an outside address that the caller chose. */
export interface Leaving {
  readonly accountId: bigint;
  readonly address: Hex;
  /** In millionths of a USDC. */
  readonly value: bigint;
}

/**
 * Enforces the account's allow-list and daily limit, in the commit that takes the money from the balance. The lock
 * lasts until that commit, so concurrent payments see each other, and an allow-list that was switched on applies to all
 * later ones.
 */
export async function applyBrakes(tx: Transaction, brakes: Brakes, leaving: Leaving): Promise<void> {
  await lockSending(tx, leaving.accountId);
  await refuseNotAllowed(tx, leaving);
  await refuseBeyondDay(tx, brakes, leaving);
}

/** Serializes an account's outgoing payments and changes of its allow-list. */
export async function lockSending(tx: Transaction, accountId: bigint): Promise<void> {
  await lockUntilCommit(tx, { kind: 'sentOutside', of: String(accountId) });
}
