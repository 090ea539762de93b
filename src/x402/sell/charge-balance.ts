import { hash } from 'node:crypto';
import type { Transaction } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { houseAccount, userAccount } from '../../ledger/account-id.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Outcome, Posting } from '../../ledger/posting.ts';
import { postingRefusal } from '../../ledger/require-posted.ts';
import type { Amount } from '../../money/amount.ts';

/** How the ledger calls what a call has cost. The history gathers them by the hour (`src/ledger/history.ts`). */
const chargeType = 'nano';

export interface Charge {
  readonly caller: Caller;
  readonly amount: Amount;
  /** What was called, for the history. */
  readonly resource: string;
}

/** From the balance to the income. */
export function chargePosting({ caller, amount, resource }: Charge): Posting {
  return {
    type: chargeType,
    amount,
    senderId: caller.accountId,
    keyId: caller.keyId,
    description: resource,
    entries: [
      { account: userAccount(caller.accountId, amount.asset), atomic: -amount.atomic },
      { account: houseAccount('fees', amount.asset), atomic: amount.atomic },
    ],
  };
}

/** One posting: instantly, without gas, and exact below a cent. False when there is too little. */
export async function chargeBalance(ledger: Ledger, charge: Charge): Promise<boolean> {
  return isCharged(await ledger.post(chargePosting(charge)));
}

/** The same as the last statement of a commit that keeps the answer. */
export async function chargeWithin(tx: Transaction, ledger: Ledger, charge: Charge): Promise<boolean> {
  const [outcome] = await ledger.postWithin(tx, [chargePosting(charge)]);
  if (outcome === undefined) throw new Error('a charge has no outcome');
  return isCharged(outcome);
}

function isCharged({ outcome }: Outcome): boolean {
  switch (outcome) {
    case 'posted':
      return true;
    case 'insufficient_balance':
    case 'unknown_account':
      return false;
    default:
      throw postingRefusal(outcome, 'a charge');
  }
}

/** The same call with the same input has the same one, in whatever order it was given. */
export function fingerprintOf(resource: string, input: unknown): Buffer {
  const fields = Object.entries(input as Record<string, unknown>).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Buffer.from(hash('sha256', JSON.stringify([resource, fields]), 'hex'), 'hex');
}
