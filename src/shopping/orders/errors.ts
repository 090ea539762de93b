import { addressErrors } from '../../accounts/addresses/errors.ts';
import { defineErrors } from '../../kernel/http/problem.ts';

const ownErrors = defineErrors({
  merchant_not_gated: {
    status: 403,
    title: 'The shop takes no orders from here',
    detail:
      'Only shops that have enabled orders can be bought from. You can still search it, and buy on its own pages by hand.',
  },
  shipping_address_required: {
    status: 400,
    title: 'A shipping address is needed',
    detail: 'Send shippingAddress, or save one with PATCH /account. Nothing was charged.',
  },
  address_refused: {
    status: 409,
    title: 'The shop does not send there',
    detail: 'The shop does not deliver to this address. Nothing was charged.',
  },
  address_not_taken: {
    status: 422,
    title: 'The shop cannot be told where to send it',
    detail:
      'The shop’s checkout takes no shipping address (its UCP profile does not list dev.ucp.shopping.fulfillment), and it did not say that nothing has to be sent. Nothing was charged. Buy on the shop’s own pages: at `continueUrl` where the shop has named one.',
  },
  verified_email_required: {
    status: 409,
    title: 'The shop needs the buyer’s email',
    detail:
      'A shop is told the email of your account only once it is verified. Verify it (POST /account/email/verify) and buy again. Nothing was charged.',
  },
  product_not_found: {
    status: 404,
    title: 'No such product',
    detail:
      'The shop has no product of this title and brand: `closest` lists what it has. Send title and brand as the search finds them.',
  },
  product_ambiguous: {
    status: 409,
    title: 'Several products or variants fit',
    detail: 'Several products or variants fit. Send productVariant or productUrl too, as the search has given it.',
  },
  sold_out: { status: 409, title: 'Sold out', detail: 'The shop has none left. Nothing was charged.' },
  price_changed: {
    status: 409,
    title: 'It costs more now',
    detail: '`total` is what the shop asks now, with shipping and tax. Send an amount of at least that to go on.',
  },
  currency_mismatch: {
    status: 400,
    title: 'The other currency is needed',
    detail: 'USDC pays what is priced in US dollars, EURC what is priced in euros, and nothing else.',
  },
  own_shop: { status: 400, title: 'Your own shop', detail: 'You cannot buy from a shop that pays into your account.' },
  merchant_changed: {
    status: 409,
    title: 'The shop has just changed',
    detail:
      'The shop was given to another account, or moved its orders elsewhere, while the order was prepared. Nothing was charged. Send the request again.',
  },
  possible_duplicate: {
    status: 409,
    title: 'You have this on order, or have just bought it',
    detail:
      'An order of the same product to the same address is open, or was completed less than a minute ago: see `orderId` and `statusUrl`. If you mean to buy another one, send that id as notDuplicateOf.',
  },
  order_failed: {
    status: 409,
    title: 'The shop did not take the order',
    detail: 'All the money is back in your balance, the fee too.',
  },
  needs_buyer: {
    status: 409,
    title: 'The shop wants to see the buyer',
    detail: 'The order can only be finished by hand, at continueUrl. Nothing was charged.',
  },
  order_taken: {
    status: 409,
    title: 'The shop has taken the order',
    detail: 'The shop has taken the order and is paid, so it cannot be cancelled here. Ask the shop for a refund.',
  },
  order_not_found: { status: 404, title: 'No such order', detail: 'You have no order with this id.' },
});

/** With what an address may lack. */
export const orderErrors = { ...addressErrors, ...ownErrors };

export const saleErrors = defineErrors({
  sale_not_found: { status: 404, title: 'No such sale', detail: 'Your shops have no order with this id.' },
  not_completed: {
    status: 409,
    title: 'Not paid',
    detail: 'Only an order that was completed can be marked as fulfilled or refunded.',
  },
  already_fulfilled: { status: 409, title: 'Fulfilled already', detail: 'This order is marked as fulfilled.' },
  refund_too_large: {
    status: 409,
    title: 'More than was paid',
    detail: '`refundable` is what can still be refunded of this order.',
  },
});

export const credentialErrors = defineErrors({
  signature_invalid: {
    status: 401,
    title: 'The request is not signed by the shop',
    detail:
      'Sign it by RFC 9421 with a key of the profile that UCP-Agent names, or send the API key of the account that has proved the domain.',
  },
  credential_unknown: {
    status: 404,
    title: 'No such credential',
    detail: 'We have issued no such token to this shop.',
  },
  credential_mismatch: {
    status: 409,
    title: 'The credential is for something else',
    detail: 'It is bound to one checkout, one amount and one currency; `mismatched` names what differs.',
  },
  credential_redeemed: {
    status: 409,
    title: 'Redeemed already',
    detail: 'It is good once. The same Idempotency-Key gets the first answer again.',
  },
  credential_void: {
    status: 410,
    title: 'The credential is void',
    detail: 'Its time has passed, or the order was given up. The money is back with the buyer.',
  },
});
