import { defineErrors } from '../../kernel/http/problem.ts';

export const transferErrors = defineErrors({
  recipient_not_found: {
    status: 404,
    title: 'Recipient not found',
    detail:
      'No account has this handle, verified email or verified phone number. Use the recipient’s handle, or ask them to verify their email or phone number with POST /account/email/verify or /account/phone/verify.',
  },
  transfer_not_found: {
    status: 404,
    title: 'Transfer not found',
    detail: 'You have no transfer with this id. List your transfers with GET /circle/transfers.',
  },
  month_archived: {
    status: 410,
    title: 'Month archived',
    detail:
      'The operator has archived this month, so its statement is no longer available here. Ask the operator for it, or request a later month.',
  },
  self_transfer: {
    status: 400,
    title: 'Transfer to yourself',
    detail: 'The recipient is your own account. Choose another recipient.',
  },
});
