import { defineErrors } from '../../kernel/http/problem.ts';
import { swapTokens } from './tokens.ts';

export const swapErrors = defineErrors({
  unknown_token: {
    status: 400,
    title: 'Unknown token',
    detail: `Tokens that can be swapped are ${swapTokens.join(', ')}, written like this.`,
  },
  same_token: {
    status: 400,
    title: 'Same token twice',
    detail: 'A swap goes from one token to another.',
  },
  swap_amount_too_small: {
    status: 400,
    title: 'Too little for a swap',
    detail: 'The fee does not pay for the gas, or what would be paid out rounds to nothing. Swap more.',
  },
  insufficient_liquidity: {
    status: 400,
    title: 'The market cannot serve it',
    detail: 'No pool could pay for this amount. Swap less at once, or another pair.',
  },
  price_impact_too_high: {
    status: 400,
    title: 'Price impact too high',
    detail: 'This amount would lose more than 5 % to price impact: it moves the price itself. Swap less at once.',
  },
  swap_not_found: {
    status: 404,
    title: 'No such swap',
    detail: 'You have no swap with this txId.',
  },
});
