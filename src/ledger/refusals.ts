import { defineErrors } from '../kernel/http/problem.ts';

/** What every request is told that takes from a balance, and that the ledger refuses. */
export const ledgerRefusals = defineErrors({
  insufficient_balance: {
    status: 400,
    title: 'Insufficient balance',
    detail: 'Your balance does not cover this. Nothing was moved; after funding, the same request may succeed.',
  },
  account_frozen: {
    status: 403,
    title: 'Account frozen',
    detail: 'Your account is frozen: it can receive but not send. Ask the operator.',
  },
});
