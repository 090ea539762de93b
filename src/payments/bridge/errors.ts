import { defineErrors } from '../../kernel/http/problem.ts';

export const bridgeErrors = defineErrors({
  same_chain: {
    status: 400,
    title: 'Same source and destination',
    detail: 'The source and destination chains are the same. Choose two different chains.',
  },
  bridge_limit_exceeded: {
    status: 400,
    title: 'Amount exceeds the CCTP limit',
    detail: 'This exceeds CCTP’s limit per transfer. Split it into smaller transfers.',
  },
  bridge_amount_too_small: {
    status: 400,
    title: 'Amount too small to bridge',
    detail: 'The amount is too small for the gas of both chains. GET /cross-chain/chains shows the minimum amount.',
  },
  bridge_fee_too_high: {
    status: 400,
    title: 'Bridge fee too high',
    detail:
      'The gas exceeds your `maxGasFee`, or the cross-chain protocol would charge more than 1 %. Raise `maxGasFee`, or try again later.',
  },
  bridge_paused: {
    status: 503,
    title: 'Cross-chain transfers are paused',
    detail: 'The cross-chain protocol is paused on one of these chains. No money was moved. Try again later.',
  },
  bridge_not_found: {
    status: 404,
    title: 'Cross-chain transfer not found',
    detail: 'You have no cross-chain transfer with this transferId. GET /cross-chain/history lists your transfers.',
  },
});
