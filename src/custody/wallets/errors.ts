import { defineErrors } from '../../kernel/http/problem.ts';

export const walletErrors = defineErrors({
  chain_not_available: {
    status: 400,
    title: 'Chain not available',
    detail: 'This service does not reach that chain. GET /circle/deposit-address without a chain answers for Polygon.',
  },
});

/** The same code, because a client does the same about it: another chain, or later. */
export const silentErrors = defineErrors({
  chain_not_available: {
    status: 503,
    title: 'Chain not available',
    detail: 'The chain has not answered for a minute. Nothing was moved; try again later.',
  },
});
