/** Why a payment is not taken, in the words of x402's specification and its own packages; the last four are ours. */
export const reasons = {
  unsupported_scheme: 'Payments are taken with the scheme exact.',
  invalid_network: 'Payments are taken on Polygon: eip155:137, in the first version polygon.',
  invalid_payment_requirements: 'The terms that it accepts are not the ones that were offered.',
  invalid_exact_evm_payload_recipient_mismatch: 'It is not for the address that the terms name.',
  invalid_exact_evm_payload_authorization_value_mismatch: 'It is not for the price.',
  invalid_exact_evm_payload_authorization_valid_after: 'It is not valid yet.',
  invalid_exact_evm_payload_authorization_valid_before:
    'It is not valid any more, or not for long enough to be settled, or for more than three hours.',
  invalid_exact_evm_payload_signature: 'It was not signed by the key of the wallet that it is from.',
  insufficient_funds: 'The wallet holds too little, or less than what it has signed for already.',
  invalid_exact_evm_nonce_already_used: 'Its nonce was used already, for something else.',
  invalid_transaction_state: 'It could not be settled.',
  unexpected_settle_error: 'The facilitator did not settle it.',
  payer_in_debt:
    'Calls that this wallet was served are not paid. GET /api/nano/debt/<its address> tells what it owes and takes a payment of it; a payment that could not be collected yet is collected once the wallet holds enough.',
  debt_mismatch: 'A debt is paid once, by the wallet that owes it, and to the last unit.',
  payer_refused: 'Payments of this wallet are not taken.',
  facilitator_refused: 'The facilitator does not take it.',
} as const;

export type Reason = keyof typeof reasons;
