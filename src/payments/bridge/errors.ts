import { defineErrors } from '../../kernel/http/problem.ts';

export const bridgeErrors = defineErrors({
  chain_not_available: {
    status: 400,
    title: 'Chain not available',
    detail: 'This service does not reach that chain. GET /cross-chain/chains names those that it reaches.',
  },
  same_chain: {
    status: 400,
    title: 'Same chain twice',
    detail: 'A bridge goes from one chain to another. On one chain nothing has to be moved.',
  },
  bridge_limit_exceeded: {
    status: 400,
    title: 'Too much for one transfer',
    detail: 'The cross-chain protocol burns less than that in one transfer. Send it in parts.',
  },
  bridge_amount_too_small: {
    status: 400,
    title: 'Too little for one transfer',
    detail: 'The gas of both ends costs too much for so little. GET /cross-chain/chains tells the smallest amount.',
  },
  bridge_fee_too_high: {
    status: 400,
    title: 'The fee is too high',
    detail: 'The transfer would cost more than you allow, or the cross-chain protocol would keep more than 1 % of it.',
  },
  bridge_paused: {
    status: 503,
    title: 'Cross-chain transfers are paused',
    detail:
      'Whoever runs the cross-chain protocol has paused it on one of these chains. Nothing was moved; try again later.',
  },
  bridge_not_found: {
    status: 404,
    title: 'No such cross-chain transfer',
    detail: 'You have no cross-chain transfer with this transferId.',
  },
});
