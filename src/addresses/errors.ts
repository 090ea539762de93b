import { defineErrors } from '../http/problem.ts';

export const addressErrors = defineErrors({
  shipping_address_incomplete: {
    status: 400,
    title: 'The shipping address lacks something',
    detail:
      '`missing` names what could not be read from the address, and `understood` what could. Nothing is guessed: nothing was saved or charged.',
  },
});
