import { defineErrors } from '../../kernel/http/problem.ts';

const outOfReach = {
  title: 'Shop unreachable',
  detail: 'The site did not respond; with status 504, not in time. Check the domain, or try again in a minute.',
};

export const shoppingErrors = {
  ...defineErrors({
    merchant_unreachable: { status: 502, ...outOfReach },
    merchant_unsupported: {
      status: 422,
      title: 'Shop not searchable',
      detail:
        'The site offers no supported search interface, or its robots.txt forbids automated access. Try another shop.',
    },
  }),
  /** The same code with another status, which tells that waiting longer might have helped. */
  merchant_too_slow: defineErrors({ merchant_unreachable: { status: 504, ...outOfReach } }).merchant_unreachable,
};
