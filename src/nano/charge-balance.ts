import { hash } from 'node:crypto';
import type { Caller } from '../http/define-route.ts';
import { httpErrors } from '../http/errors.ts';
import { houseAccount, userAccount } from '../ledger/account-id.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { Posting } from '../ledger/posting.ts';
import type { Amount } from '../money/amount.ts';
import { transferErrors } from '../transfers/errors.ts';

/** How the ledger calls what a call has cost. The history gathers them by the hour (`src/ledger/history.ts`). */
const chargeType = 'nano';

export interface Charge {
  readonly caller: Caller;
  readonly amount: Amount;
  /** What was called, for the history. */
  readonly resource: string;
  /** Everything that was said, so that another request under the same key is told apart. */
  readonly fingerprint: Buffer;
  readonly idempotencyKey: string | undefined;
}

/** From the balance to the income. */
export function chargePosting({ caller, amount, resource }: Pick<Charge, 'caller' | 'amount' | 'resource'>): Posting {
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

/** `charged` now, or `charged_before` under the same key, or there is too little. */
export type Charged = 'charged' | 'charged_before' | 'insufficient_balance';

/** One posting: instantly, without gas, and exact below a cent. */
export async function chargeBalance(ledger: Ledger, charge: Charge): Promise<Charged> {
  const { caller, fingerprint, idempotencyKey: key } = charge;
  const { outcome } = await ledger.post({
    ...chargePosting(charge),
    ...(key !== undefined && { idempotency: { accountId: caller.accountId, key, requestHash: fingerprint } }),
  });
  switch (outcome) {
    case 'posted':
      return 'charged';
    case 'duplicate':
      return 'charged_before';
    case 'insufficient_balance':
    case 'unknown_account':
      return 'insufficient_balance';
    case 'frozen_account':
      throw transferErrors.account_frozen();
    case 'key_revoked':
      throw httpErrors.unauthorized(undefined, { headers: { 'WWW-Authenticate': 'Bearer' } });
    case 'mismatch':
      throw httpErrors.idempotency_mismatch();
  }
}

/** The same call with the same input has the same one, in whatever order it was given. */
export function fingerprintOf(resource: string, input: unknown): Buffer {
  const fields = Object.entries(input as Record<string, unknown>).toSorted(([a], [b]) => (a < b ? -1 : 1));
  return Buffer.from(hash('sha256', JSON.stringify([resource, fields]), 'hex'), 'hex');
}
