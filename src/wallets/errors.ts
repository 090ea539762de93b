import { defineErrors } from '../http/problem.ts';

export const walletErrors = defineErrors({
  chain_not_available: {
    status: 400,
    title: 'Chain not available',
    detail: 'This service does not reach that chain. GET /circle/deposit-address without a chain answers for Polygon.',
  },
});
