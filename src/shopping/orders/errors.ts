import { addressErrors } from '../../accounts/errors.ts';
import { defineErrors } from '../../kernel/http/problem.ts';

const ownErrors = defineErrors({
  merchant_not_gated: {
    status: 403,
    title: 'Shop has not enabled orders',
    detail:
      'You can only buy from shops that have enabled orders through this service. You can still search this shop and buy on its website yourself.',
  },
  shipping_address_required: {
    status: 400,
    title: 'Shipping address required',
    detail:
      'The order has no shipping address and your account has none on file. Send `shippingAddress`, or save one with PATCH /account. Nothing was charged.',
  },
  address_refused: {
    status: 409,
    title: 'Shipping address refused',
    detail: 'The shop does not deliver to this address. Nothing was charged. Use another shippingAddress.',
  },
  address_not_taken: {
    status: 422,
    title: 'Shop takes no shipping address',
    detail:
      'The shop’s checkout accepts no shipping address (its UCP profile does not list dev.ucp.shopping.fulfillment) and does not say that no shipping is needed. Nothing was charged. Buy on the shop’s website, at `continueUrl` if it is given.',
  },
  verified_email_required: {
    status: 409,
    title: 'Verified email required',
    detail:
      'The shop requires the buyer’s email, which is shared only once it is verified. Verify it with POST /account/email/verify and buy again. Nothing was charged.',
  },
  product_not_found: {
    status: 404,
    title: 'Product not found',
    detail:
      'The shop has no product with this title and brand; `closest` lists similar ones. Send title and brand exactly as the search returns them.',
  },
  product_ambiguous: {
    status: 409,
    title: 'Product ambiguous',
    detail: 'Several products or variants match. Also send productVariant or productUrl as returned by the search.',
  },
  sold_out: { status: 409, title: 'Sold out', detail: 'The product is sold out. Nothing was charged.' },
  price_changed: {
    status: 409,
    title: 'Price changed',
    detail:
      'The shop now asks for more than `amount`: `total`, including shipping and tax. Nothing was charged. To continue, send an amount of at least that.',
  },
  currency_mismatch: {
    status: 400,
    title: 'Currency mismatch',
    detail:
      'USDC pays prices in US dollars and EURC pays prices in euros. Choose the paymentMethod that matches the shop’s currency.',
  },
  own_shop: {
    status: 400,
    title: 'Your own shop',
    detail: 'This shop is paid into your own account, so you cannot buy from it. Use another account.',
  },
  merchant_changed: {
    status: 409,
    title: 'Shop changed during the order',
    detail:
      'The shop moved to another account or changed its orders URL while the order was being prepared. Nothing was charged. Send the request again.',
  },
  order_failed: {
    status: 409,
    title: 'Order failed',
    detail: 'The shop did not accept the order. The whole amount, including the fee, is back in your balance.',
  },
  needs_buyer: {
    status: 409,
    title: 'Buyer action required',
    detail: 'The shop requires the buyer to complete this order in a browser, at `continueUrl`. Nothing was charged.',
  },
  order_taken: {
    status: 409,
    title: 'Order already accepted',
    detail: 'The shop has accepted the order and is paid, so it cannot be cancelled here. Ask the shop for a refund.',
  },
  order_not_found: {
    status: 404,
    title: 'Order not found',
    detail: 'You have no order with this id. GET /shopping/orders lists your orders.',
  },
});

export const orderErrors = { ...addressErrors, ...ownErrors };

export const saleErrors = defineErrors({
  sale_not_found: {
    status: 404,
    title: 'Sale not found',
    detail: 'Your shops have no order with this id. GET /shopping/sales lists your sales.',
  },
  not_completed: {
    status: 409,
    title: 'Order not completed',
    detail: 'Only a completed order can be fulfilled or refunded. Wait until its status is `completed`.',
  },
  already_fulfilled: {
    status: 409,
    title: 'Already fulfilled',
    detail: 'This order is already marked as fulfilled. There is nothing left to do.',
  },
  refund_too_large: {
    status: 409,
    title: 'Refund too large',
    detail: 'The refund exceeds what is left of the order amount: `refundable`. Refund at most that.',
  },
});

export const credentialErrors = defineErrors({
  signature_invalid: {
    status: 401,
    title: 'Signature invalid',
    detail:
      'Sign the request (RFC 9421) with a key of the profile in UCP-Agent, or send the API key of the account that proved the domain.',
  },
  credential_unknown: {
    status: 404,
    title: 'Credential unknown',
    detail: 'No such token was issued to this shop. Check the token and the domain that signed the request.',
  },
  credential_mismatch: {
    status: 409,
    title: 'Credential mismatch',
    detail:
      'The credential is bound to another checkout, amount or currency; `mismatched` lists what differs. Send the values of the checkout it was issued for.',
  },
  credential_redeemed: {
    status: 409,
    title: 'Credential already redeemed',
    detail:
      'A credential can be redeemed only once. To get the first response again, send the same request with its Idempotency-Key.',
  },
  credential_void: {
    status: 410,
    title: 'Credential void',
    detail: 'The credential has expired or its order was cancelled. The buyer has been refunded; do not ship.',
  },
});
