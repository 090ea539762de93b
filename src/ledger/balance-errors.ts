import { httpErrors } from '../kernel/http/errors.ts';
import { defineErrors, type ErrorKind } from '../kernel/http/problem.ts';
import type { Outcome, RefusedOutcome } from './posting.ts';

/** Errors of every request that takes money from a balance. */
export const balanceErrors = defineErrors({
  insufficient_balance: {
    status: 400,
    title: 'Insufficient balance',
    detail: 'Your balance does not cover this amount. No money was moved. Add funds and send the request again.',
  },
  account_frozen: {
    status: 403,
    title: 'Account frozen',
    detail: 'Your account is frozen: it can receive money but not send it. Contact the operator.',
  },
});

const refusals: Readonly<Record<Exclude<RefusedOutcome, 'unknown_account'>, ErrorKind>> = {
  insufficient_balance: balanceErrors.insufficient_balance,
  frozen_account: balanceErrors.account_frozen,
  key_revoked: httpErrors.unauthorized,
  mismatch: httpErrors.idempotency_mismatch,
};

/** The error for a request whose posting the ledger refuses. The rest are bugs, and so an internal error. */
export function postingRefusal(outcome: Outcome['outcome'], what: string): Error {
  if (!(outcome in refusals)) return new Error(`${what} was refused: ${outcome}`);
  const headers = outcome === 'key_revoked' ? { 'WWW-Authenticate': 'Bearer' } : {};
  return refusals[outcome as keyof typeof refusals](undefined, { headers });
}

export function requirePosted(outcome: Outcome['outcome'], what: string): void {
  if (outcome !== 'posted') throw postingRefusal(outcome, what);
}
