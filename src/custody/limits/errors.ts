import { defineErrors } from '../../kernel/http/problem.ts';

export const limitErrors = defineErrors({
  daily_limit_reached: {
    status: 403,
    title: 'Daily limit reached',
    detail:
      'It is more than this account may send outside within 24 hours. GET /account/withdrawal-limits says what is left.',
  },
  address_not_allowed: {
    status: 403,
    title: 'Address not on the allow-list',
    detail: 'Your allow-list is on, and this address is not on it. Add it with POST /account/withdrawal-addresses.',
  },
});
