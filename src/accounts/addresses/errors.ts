import { defineErrors } from '../../kernel/http/problem.ts';

export const addressErrors = defineErrors({
  shipping_address_incomplete: {
    status: 400,
    title: 'The shipping address lacks something',
    detail:
      '`missing` names what could not be read from the address, and `understood` what could. Nothing is guessed: nothing was saved or charged.',
  },
  shipping_address_too_long: {
    status: 400,
    title: 'A part of the shipping address is too long',
    detail:
      'No part of a shipping address may have more than `longest` characters; `tooLong` names those that have. Nothing is cut or left out: nothing was saved or charged. Shorten them and send the address again.',
  },
});
