import { defineErrors } from '../../kernel/http/problem.ts';

const outOfReach = {
  title: 'The shop could not be reached',
  detail: 'The site did not answer, or with status 504 not in time. Check its name, or try again in a minute.',
};

export const shoppingErrors = {
  ...defineErrors({
    merchant_unreachable: { status: 502, ...outOfReach },
    merchant_unsupported: {
      status: 422,
      title: 'The shop cannot be searched',
      detail: 'The site offers no way of searching that we know, or asks programs not to read it. Try another shop.',
    },
  }),
  /** The same to whoever branches on the code; the status tells that waiting longer might have helped. */
  merchant_too_slow: defineErrors({ merchant_unreachable: { status: 504, ...outOfReach } }).merchant_unreachable,
};
