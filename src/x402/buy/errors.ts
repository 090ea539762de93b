import { defineErrors } from '../../kernel/http/problem.ts';

export const purchaseErrors = defineErrors({
  seller_url_refused: {
    status: 400,
    title: 'URL refused',
    detail: 'This URL cannot be called. It must begin with https:// and resolve to a public IP address.',
  },
  seller_unreachable: {
    status: 502,
    title: 'Seller unreachable',
    detail: 'The seller could not be reached at this URL. Nothing was paid. Check the URL, or try again later.',
  },
  seller_timeout: {
    status: 504,
    title: 'Seller timeout',
    detail: 'The seller did not state its price in time. Nothing was paid. Try again later.',
  },
  terms_unreadable: {
    status: 502,
    title: 'Payment terms unreadable',
    detail:
      'The seller responded with 402 but without valid x402 terms of version 1 or 2. Nothing was paid. Contact the seller.',
  },
  terms_unpayable: {
    status: 409,
    title: 'Payment terms not supported',
    detail:
      'The seller accepts no payment that this service supports: an exact amount of USDC on Polygon by signed authorization (EIP-3009) to an external address. `accepts` lists the seller’s terms. Nothing was paid.',
  },
  price_above_maximum: {
    status: 409,
    title: 'Price above maxAmount',
    detail: 'The seller’s `price` exceeds your maxAmount. Nothing was paid. To pay it, raise maxAmount.',
  },
  seller_denied: {
    status: 403,
    title: 'Payment address denied',
    detail:
      'The seller’s payment address is on the operator’s deny list. Nothing was paid. Contact the operator if this is a mistake.',
  },
  price_above_float: {
    status: 409,
    title: 'Price above the payment float',
    detail: 'The price exceeds the most that a single call can cost on this service: `mostAmount`. Nothing was paid.',
  },
  float_short: {
    status: 503,
    title: 'Payment float exhausted',
    detail:
      'The funds for payments to sellers are in use and are being refilled. Nothing was paid. Try again in a moment.',
  },
  hourly_limit_reached: {
    status: 503,
    title: 'Hourly limit reached',
    detail: 'The service-wide hourly limit on outgoing payments is reached. Nothing was paid. Try again later.',
  },
  too_many_free_answers: {
    status: 429,
    title: 'Too many free calls',
    detail:
      'This operation is for paid endpoints, and too many of your calls in the last hour were free. Nothing was paid. Wait the number of seconds in Retry-After, or call free endpoints directly.',
  },
  too_many_failed_calls: {
    status: 429,
    title: 'Too many failed calls',
    detail:
      'Too many calls to this seller in ten minutes, or to all sellers in an hour, got a server error or no response. Nothing was paid. Wait the number of seconds in Retry-After, then try again.',
  },
  payment_not_made: {
    status: 503,
    title: 'Payment not made',
    detail:
      'The payment could not be created, and the seller received none. The whole amount is back in your balance. Retrying is safe.',
  },
  payment_refused: {
    status: 502,
    title: 'Payment refused by the seller',
    detail:
      'The seller refused a payment that matches its own terms. The amount is held until the payment expires and is then refunded; see `payment.statusUrl`.',
  },
  seller_failed: {
    status: 502,
    title: 'Seller error',
    detail:
      'The seller received the payment but responded with an error: `answer`. The amount is held until the seller collects it or the payment expires and is refunded; see `payment.statusUrl`.',
  },
  seller_silent: {
    status: 504,
    title: 'No response from the seller',
    detail:
      'The seller received the payment but did not respond. The amount is held until the seller collects it or the payment expires and is refunded; see `payment.statusUrl`.',
  },
  purchase_not_found: {
    status: 404,
    title: 'Purchase not found',
    detail: 'You have no purchase with this id. GET /nano/purchases lists your purchases.',
  },
});
