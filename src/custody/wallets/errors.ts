import { defineErrors } from '../../kernel/http/problem.ts';

export const walletErrors = defineErrors({
  chain_not_available: {
    status: 400,
    title: 'Chain not available',
    detail: 'This service does not support that chain. Omit `chain` to get the address on Polygon.',
  },
});

/** The same code, because a client does the same about it: another chain, or later. */
export const silentErrors = defineErrors({
  chain_not_available: {
    status: 503,
    title: 'Chain not available',
    detail: 'The chain’s nodes have not responded for a minute. No money was moved. Try again later.',
  },
});
