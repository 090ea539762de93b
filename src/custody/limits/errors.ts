import { defineErrors } from '../../kernel/http/problem.ts';

export const limitErrors = defineErrors({
  daily_limit_reached: {
    status: 403,
    title: 'Daily limit reached',
    detail:
      'This exceeds your account’s 24-hour limit on outgoing payments. GET /account/withdrawal-limits shows what is left and when more becomes available.',
  },
  address_not_allowed: {
    status: 403,
    title: 'Address not on the allow-list',
    detail:
      'Your allow-list is on and does not contain this address, or the address is still in its waiting period. Add it with POST /account/withdrawal-addresses; GET shows from when it is usable.',
  },
});
