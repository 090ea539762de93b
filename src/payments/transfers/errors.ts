import { defineErrors } from '../../kernel/http/problem.ts';

export const transferErrors = defineErrors({
  recipient_not_found: {
    status: 404,
    title: 'Recipient not found',
    detail:
      'No account has this handle, verified email or verified phone number. A recipient verifies an email or a phone number with POST /account/email/verify or /account/phone/verify; a handle always works.',
  },
  self_transfer: { status: 400, title: 'Paying yourself', detail: 'The recipient is your own account.' },
});
