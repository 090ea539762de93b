import { hash } from 'node:crypto';
import type { Transaction } from '../../kernel/db/database.ts';
import type { Caller } from '../../kernel/http/define-route.ts';
import { houseAccount, userAccount } from '../../ledger/account-id.ts';
import { postingRefusal } from '../../ledger/balance-errors.ts';
import type { Ledger } from '../../ledger/ledger.ts';
import type { Authority, Outcome, Posting } from '../../ledger/posting.ts';
import { type Amount, toText } from '../../money/amount.ts';
import { homeChain } from '../../money/catalogue.ts';
import type { Payment } from '../../policies/consent.ts';

/** The ledger type. The history groups these by hour (`src/ledger/history.ts`). */
const chargeType = 'nano';

export interface Charge {
  readonly caller: Caller;
  readonly authority: Authority;
  readonly amount: Amount;
  /** Shown in the history. */
  readonly resource: string;
}

export function chargePosting({ caller, authority, amount, resource }: Charge): Posting {
  return {
    type: chargeType,
    amount,
    senderId: caller.accountId,
    keyId: caller.keyId,
    authority,
    description: resource,
    entries: [
      { account: userAccount(caller.accountId, amount.asset), atomic: -amount.atomic },
      { account: houseAccount('fees', amount.asset), atomic: amount.atomic },
    ],
  };
}

/** Calls of our own endpoints are paid to the host that people know us by. */
export function paymentForOwnCall(price: Amount, url: string, publicUrl: string): Payment {
  const { host } = new URL(publicUrl);
  return {
    operation: 'call',
    amount: price,
    counterparty: { kind: 'endpoint', host },
    chains: [homeChain],
    facts: () => [
      { label: 'Call', text: url },
      { label: 'Price', text: toText(price) },
    ],
  };
}

/** False when the balance is too low. */
export async function chargeBalance(ledger: Ledger, charge: Charge): Promise<boolean> {
  return isCharged(await ledger.post(chargePosting(charge)));
}

/** Charges inside a commit that also keeps the answer. */
export async function chargeWithin(tx: Transaction, ledger: Ledger, charge: Charge): Promise<boolean> {
  const [outcome] = await ledger.postWithin(tx, [chargePosting(charge)]);
  if (outcome === undefined) throw new Error('a charge has no outcome');
  return isCharged(outcome);
}

function isCharged(result: Outcome): boolean {
  const { outcome } = result;
  if (outcome === 'posted') return true;
  if (outcome === 'insufficient_balance' || outcome === 'unknown_account') return false;
  throw postingRefusal(result, 'a charge');
}

/** The order of the input's fields does not matter. */
export function fingerprintOf(resource: string, input: unknown): Buffer {
  const fields = Object.entries(input as Record<string, unknown>).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Buffer.from(hash('sha256', JSON.stringify([resource, fields]), 'hex'), 'hex');
}
