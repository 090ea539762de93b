import { defineErrors } from '../../kernel/http/problem.ts';

export const merchantErrors = defineErrors({
  merchant_not_found: {
    status: 404,
    title: 'Domain not found',
    detail:
      'You have not registered this domain, or it belongs to another account. Register it with POST /shopping/merchants.',
  },
  domain_taken: {
    status: 409,
    title: 'Domain already in use',
    detail:
      'The domain belongs to another account, which proved it or was assigned it by the operator. Ask the operator to move it.',
  },
  domain_not_proved: {
    status: 422,
    title: 'Proof not found',
    detail: 'The proof file is missing or does not contain the expected line. Publish it and call verify again.',
  },
  orders_url_refused: {
    status: 400,
    title: 'Orders URL refused',
    detail: 'Orders cannot be sent to this URL. It must begin with https:// and resolve to a public IP address.',
  },
  too_many_domains: {
    status: 409,
    title: 'Too many domains',
    detail: 'An account can register at most 20 domains. Delete one, then try again.',
  },
});
