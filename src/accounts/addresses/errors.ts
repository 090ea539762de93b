import { defineErrors } from '../../kernel/http/problem.ts';

export const addressErrors = defineErrors({
  shipping_address_incomplete: {
    status: 400,
    title: 'Shipping address incomplete',
    detail:
      'The address lacks required parts: `missing` lists them, and `understood` shows the parts that were recognised. Nothing was saved or charged. Complete the address and send it again.',
  },
  shipping_address_too_long: {
    status: 400,
    title: 'Shipping address too long',
    detail:
      'A part of the shipping address has more than `longest` characters; `tooLong` lists each such part. Nothing was saved or charged. Shorten the address and send it again.',
  },
});
