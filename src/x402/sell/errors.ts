import { defineErrors } from '../../kernel/http/problem.ts';

export const nanoErrors = defineErrors({
  invalid_payload: {
    status: 400,
    title: 'Not a payment',
    detail: 'The payment header is not a payment of x402: JSON in base64, of at most 8,192 characters.',
  },
  invalid_x402_version: {
    status: 400,
    title: 'Another version of x402',
    detail: 'PAYMENT-SIGNATURE takes version 2 of x402, X-PAYMENT version 1.',
  },
  payment_identifier_conflict: {
    status: 409,
    title: 'The payment-identifier is taken',
    detail: 'Another payment of this wallet, or one for another request, goes by this payment-identifier.',
  },
  payment_not_found: {
    status: 404,
    title: 'No such payment',
    detail: 'There is no payment with this id. A payment whose call failed was never charged, and is forgotten.',
  },
});
