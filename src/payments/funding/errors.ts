import { defineErrors } from '../../kernel/http/problem.ts';

export const fundingErrors = defineErrors({
  funding_link_not_found: {
    status: 404,
    title: 'Funding link not found',
    detail: 'You have no funding link with this id. GET /circle/buy-sessions lists your links.',
  },
  currency_not_receivable: {
    status: 400,
    title: 'Currency cannot be received',
    detail:
      'This service supports no chain on which this currency can be deposited. Use the other currency, or ask someone with an account here to transfer it to you.',
  },
});
