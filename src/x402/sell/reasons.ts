/** Why a payment is not taken, in the words of x402's specification and its own packages; the last four are ours. */
export const reasons = {
  unsupported_scheme: 'Only the scheme `exact` is supported.',
  invalid_network: 'Only Polygon is supported: eip155:137, or polygon in x402 version 1.',
  invalid_payment_requirements: 'The accepted terms differ from the offered ones.',
  invalid_exact_evm_payload_recipient_mismatch: 'The payment is for another address than payTo of the terms.',
  invalid_exact_evm_payload_authorization_value_mismatch: 'The signed amount differs from the price.',
  invalid_exact_evm_payload_authorization_valid_after: 'The authorization is not valid yet (validAfter).',
  invalid_exact_evm_payload_authorization_valid_before:
    'The authorization has expired, expires too soon to settle, or is valid for more than three hours (validBefore).',
  invalid_exact_evm_payload_signature: 'The signature is not by the wallet that the payment is from.',
  insufficient_funds: 'The wallet does not hold enough for this payment and the earlier ones that it signed.',
  invalid_exact_evm_nonce_already_used: 'The nonce was already used for another payment.',
  invalid_transaction_state: 'The payment could not be settled.',
  unexpected_settle_error: 'The facilitator did not settle the payment.',
  payer_in_debt:
    'This wallet owes money for earlier calls. GET /api/nano/debt/<its address> shows the debt and accepts a payment of it. Payments that could not be collected yet are collected once the wallet holds enough.',
  debt_mismatch: 'A debt must be paid exactly, once, and by the wallet that owes it.',
  payer_refused: 'Payments from this wallet are not accepted.',
  facilitator_refused: 'The facilitator refused the payment.',
} as const;

export type Reason = keyof typeof reasons;
