import { defineErrors } from '../http/problem.ts';

export const transferErrors = defineErrors({
  recipient_not_found: {
    status: 404,
    title: 'Recipient not found',
    detail:
      'No account has this handle, verified email or verified phone number. A recipient verifies an email or a phone number with POST /account/email/verify or /account/phone/verify; a handle always works.',
  },
  insufficient_balance: {
    status: 400,
    title: 'Insufficient balance',
    detail: 'Your balance does not cover this. Nothing was moved; after funding, the same request may succeed.',
  },
  self_transfer: { status: 400, title: 'Paying yourself', detail: 'The recipient is your own account.' },
  account_frozen: {
    status: 403,
    title: 'Account frozen',
    detail: 'Your account is frozen: it can receive but not send. Ask the operator.',
  },
});
