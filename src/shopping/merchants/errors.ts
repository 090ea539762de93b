import { defineErrors } from '../../kernel/http/problem.ts';

export const merchantErrors = defineErrors({
  merchant_not_found: {
    status: 404,
    title: 'No such domain',
    detail: 'You have not registered this domain, or it is another account’s. `POST /shopping/merchants` registers it.',
  },
  domain_taken: {
    status: 409,
    title: 'The domain belongs to another account',
    detail: 'Another account has proved this domain, or the operator has given it one. Only the operator can move it.',
  },
  domain_not_proved: {
    status: 422,
    title: 'The proof is not there',
    detail: 'The file is not at its address, or does not hold the line that it should. Put it there and ask again.',
  },
  orders_url_refused: {
    status: 400,
    title: 'Orders URL refused',
    detail: 'No orders can be sent to this URL. It must begin with https:// and lead to a public address.',
  },
  too_many_domains: {
    status: 409,
    title: 'Too many domains',
    detail: 'An account may register 20 domains. Delete one first.',
  },
});
