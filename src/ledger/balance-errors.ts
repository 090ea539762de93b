import { CallerChanged } from '../kernel/http/caller-changed.ts';
import { possibleDuplicate } from '../kernel/http/duplicate-guard.ts';
import { httpErrors } from '../kernel/http/errors.ts';
import { defineErrors, type ErrorKind, type Problem } from '../kernel/http/problem.ts';
import { toDecimalText } from '../money/amount.ts';
import type { ExceededBudget, Outcome, RefusedOutcome } from './posting.ts';

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
  budget_exceeded: {
    status: 403,
    title: 'Budget exceeded',
    detail:
      'A budget of this key, or of a key above it, does not cover the payment. No money was moved. `budget` names it, `remaining` is what it has left, and `resetsAt` is when it will have more, or null if waiting does not help.',
  },
  approval_required: {
    status: 403,
    title: 'Approval required',
    detail: 'The policy of this key, or of a key above it, asks the owner before such a payment. No money was moved.',
  },
});

const refusals: Readonly<Record<Exclude<RefusedOutcome, 'unknown_account' | 'stale'>, ErrorKind>> = {
  insufficient_balance: balanceErrors.insufficient_balance,
  frozen_account: balanceErrors.account_frozen,
  key_revoked: httpErrors.unauthorized,
  mismatch: httpErrors.idempotency_mismatch,
};

/** The error for a request whose posting the ledger refuses. The rest are bugs, and so an internal error. */
export function postingRefusal(refused: Outcome | undefined, what: string): Error {
  if (refused?.outcome === 'budget_exceeded') {
    const problem = budgetRefusal(refused.exceeded);
    refused.decision?.refused(problem, refused.exceeded);
    return problem;
  }
  if (refused?.outcome === 'possible_duplicate') {
    const { id, postedAt } = refused.of;
    return possibleDuplicate({ id, status: 'complete', createdAt: postedAt });
  }
  const outcome = refused?.outcome;
  if (outcome === 'stale') return new CallerChanged();
  if (outcome === undefined || !(outcome in refusals)) return new Error(`${what} was refused: ${outcome}`);
  const headers = outcome === 'key_revoked' ? { 'WWW-Authenticate': 'Bearer' } : {};
  return refusals[outcome as keyof typeof refusals](undefined, { headers });
}

/** One budget that denies is enough. If all that do not cover the payment ask, the owner is asked. */
export function budgetRefusal(exceeded: readonly ExceededBudget[]): Problem {
  const first = exceeded.find(({ onExceed }) => onExceed === 'deny') ?? exceeded[0];
  if (first === undefined) throw new Error('no budget is exceeded');
  const { key, id, remaining, resetsAt, onExceed } = first;
  const members = {
    budget: { key, id },
    remaining: toDecimalText(remaining),
    resetsAt: resetsAt?.toISOString() ?? null,
  };
  if (onExceed === 'ask') return balanceErrors.approval_required(undefined, { members });
  const more = resetsAt === null ? '' : ` It will have more at ${resetsAt.toISOString()}.`;
  return balanceErrors.budget_exceeded(
    `The budget "${id}" of the key ${key} has ${members.remaining} ${remaining.asset} left, which does not cover the payment.${more} No money was moved.`,
    { members },
  );
}

export function requirePosted(outcome: Outcome | undefined, what: string): void {
  if (outcome?.outcome !== 'posted') throw postingRefusal(outcome, what);
}
