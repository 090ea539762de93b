import { defineErrors } from '../../kernel/http/problem.ts';
import { swapTokens } from './tokens.ts';

export const swapErrors = defineErrors({
  unknown_token: {
    status: 400,
    title: 'Unknown token',
    detail: `This token cannot be swapped. Use one of ${swapTokens.join(', ')}, in exactly this spelling.`,
  },
  same_token: {
    status: 400,
    title: 'Same token twice',
    detail: '`from` and `to` are the same token. Choose two different tokens.',
  },
  swap_amount_too_small: {
    status: 400,
    title: 'Amount too small to swap',
    detail: 'The swap fee does not cover the gas, or the output rounds to zero. Swap a larger amount.',
  },
  insufficient_liquidity: {
    status: 400,
    title: 'Insufficient liquidity',
    detail: 'No pool has enough liquidity for this amount. Swap a smaller amount or another pair.',
  },
  price_impact_too_high: {
    status: 400,
    title: 'Price impact too high',
    detail: 'The price impact of this amount exceeds 5 %. Swap a smaller amount.',
  },
  swap_not_found: {
    status: 404,
    title: 'Swap not found',
    detail: 'You have no swap with this txId. GET /swap/history lists your swaps.',
  },
});
