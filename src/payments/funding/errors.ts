import { defineErrors } from '../../kernel/http/problem.ts';

export const fundingErrors = defineErrors({
  funding_link_not_found: {
    status: 404,
    title: 'No such funding link',
    detail: 'You have made no funding link with this id. GET /circle/buy-sessions lists them.',
  },
  currency_not_receivable: {
    status: 400,
    title: 'Currency cannot be received',
    detail:
      'This service reaches no chain that this currency could arrive on. Ask for the other currency, or have somebody with an account here transfer it.',
  },
});
