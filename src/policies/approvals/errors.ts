import { defineErrors } from '../../kernel/http/problem.ts';

export const approvalErrors = defineErrors({
  approval_not_found: {
    status: 404,
    title: 'Approval not found',
    detail: 'There is no approval with this id that this key, or a key below it, has asked for.',
  },
  approval_not_pending: {
    status: 409,
    title: 'Approval not pending',
    detail: 'The approval was decided, cancelled or has expired. GET /approvals/{id} tells which. Nothing was changed.',
  },
  too_many_approvals: {
    status: 409,
    title: 'Too many pending approvals',
    detail:
      'The account has 20 approvals that wait for the owner. No money was moved. Wait until some are decided or expire, or cancel some with POST /approvals/{id}/cancel.',
  },
});
