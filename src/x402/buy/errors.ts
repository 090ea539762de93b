import { defineErrors } from '../../kernel/http/problem.ts';

export const purchaseErrors = defineErrors({
  seller_url_refused: {
    status: 400,
    title: 'URL refused',
    detail: 'Nothing can be asked there. The URL must begin with https:// and lead to a public address.',
  },
  seller_unreachable: {
    status: 502,
    title: 'The seller cannot be reached',
    detail: 'No answer came from this URL. Nothing was paid.',
  },
  seller_timeout: {
    status: 504,
    title: 'The seller does not answer',
    detail: 'The seller was asked for its price and did not answer in time. Nothing was paid.',
  },
  terms_unreadable: {
    status: 502,
    title: 'The seller’s terms cannot be read',
    detail: 'The seller answers 402, but says in neither version of x402 what it wants. Nothing was paid.',
  },
  terms_unpayable: {
    status: 409,
    title: 'Nothing of it can be paid',
    detail:
      'We pay an exact amount of USDC on Polygon, by a signed authorization, to an address outside. `accepts` is what the seller takes. Nothing was paid.',
  },
  price_above_maximum: {
    status: 409,
    title: 'The price is above maxAmount',
    detail: 'The seller asks for `price`, which is more than maxAmount. Nothing was paid.',
  },
  seller_denied: {
    status: 403,
    title: 'No money goes to this address',
    detail: 'The address that the seller wants to be paid at is on the operator’s deny list. Nothing was paid.',
  },
  price_above_float: {
    status: 409,
    title: 'Too expensive to be paid like this',
    detail: 'One call may not cost more than what is set aside for all of them: `mostAmount`. Nothing was paid.',
  },
  float_short: {
    status: 503,
    title: 'Too little is set aside at the moment',
    detail:
      'What is set aside for payments to sellers is in use. It is being filled: try again in a moment. Nothing was paid.',
  },
  hourly_limit_reached: {
    status: 503,
    title: 'Too much leaves the service at the moment',
    detail:
      'Within an hour no more than so much goes to addresses outside, of all accounts together. Nothing was paid; try again later.',
  },
  too_many_free_answers: {
    status: 429,
    title: 'Too many free answers',
    detail:
      'This is for endpoints that cost something. Too many answers within an hour have cost nothing. Nothing was paid; Retry-After says how many seconds to wait.',
  },
  too_many_failed_calls: {
    status: 429,
    title: 'Too many failed calls',
    detail:
      'Too many calls to this seller within ten minutes, or to all sellers within an hour, got no answer or a server error. Nothing was paid; Retry-After says how many seconds to wait.',
  },
  payment_not_made: {
    status: 503,
    title: 'It could not be paid',
    detail: 'The seller was shown no payment, and the whole amount is back. Retrying is safe.',
  },
  payment_refused: {
    status: 502,
    title: 'The seller refuses the payment',
    detail:
      'The seller was given exactly what it asked for, and asks again. The amount is held until it can be taken no more, and then comes back.',
  },
  seller_failed: {
    status: 502,
    title: 'The seller failed',
    detail:
      'The seller was given the payment and answered with an error: `answer`. What has become of the money is at `payment.statusUrl`: it is held until the chain shows that the seller has taken it, or that it cannot any more.',
  },
  seller_silent: {
    status: 504,
    title: 'The seller took the payment and did not answer',
    detail:
      'The seller was given the payment, and no answer came back. What has become of the money is at `payment.statusUrl`: it is held until the chain shows that the seller has taken it, or that it cannot any more.',
  },
  purchase_not_found: { status: 404, title: 'No such purchase', detail: 'You have no purchase with this id.' },
});
