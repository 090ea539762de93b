import { defineErrors } from '../kernel/http/problem.ts';

/** Errors of every request that takes money from a balance. */
export const ledgerRefusals = defineErrors({
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
