import { defineErrors } from '../../kernel/http/problem.ts';

export const nanoErrors = defineErrors({
  invalid_payload: {
    status: 400,
    title: 'Invalid payment header',
    detail: 'The payment header is not a valid x402 payment. Send base64-encoded JSON of at most 8,192 characters.',
  },
  invalid_x402_version: {
    status: 400,
    title: 'Wrong x402 version',
    detail:
      'The payment’s x402 version does not match its header. Send version 2 in PAYMENT-SIGNATURE, or version 1 in X-PAYMENT.',
  },
  payment_identifier_conflict: {
    status: 409,
    title: 'Payment identifier already used',
    detail: 'This wallet already used this payment-identifier for another payment or another request. Use a new one.',
  },
  payment_not_found: {
    status: 404,
    title: 'Payment not found',
    detail: 'There is no payment with this id. If the call failed, its payment was never charged and is not kept.',
  },
});
