import { walletErrors } from '../../custody/wallets/errors.ts';
import { defineErrors } from '../../kernel/http/problem.ts';

const ownErrors = defineErrors({
  withdrawal_address_required: {
    status: 400,
    title: 'Withdrawal address required',
    detail:
      'The request has no address and your account has no default one. Send `address`, or save a withdrawalAddress with PATCH /account.',
  },
  withdrawal_address_refused: {
    status: 400,
    title: 'Withdrawal address refused',
    detail:
      'Money sent to this address would be lost: it is a burn address, a contract that cannot use the token, or a wallet of this service. Use another address.',
  },
  currency_not_available: {
    status: 400,
    title: 'Currency not available on this chain',
    detail:
      'This currency cannot be withdrawn on that chain. Choose another chain. Balances and transfers within the service are not affected.',
  },
  withdrawal_not_found: {
    status: 404,
    title: 'Withdrawal not found',
    detail: 'You have no withdrawal with this txId. GET /circle/withdrawals lists your withdrawals.',
  },
  withdrawal_not_cancellable: {
    status: 409,
    title: 'Withdrawal cannot be cancelled',
    detail:
      'A withdrawal can be cancelled only before it is submitted. This one is finished, being sent, or held for review by the operator.',
  },
  amount_too_small: {
    status: 400,
    title: 'Amount too small for this chain',
    detail: 'The fee on this amount does not cover the gas of the payout. Withdraw more, or use another chain.',
  },
  withdrawal_address_not_found: {
    status: 404,
    title: 'Address not found',
    detail: 'This address is not on your allow-list. GET /account/withdrawal-addresses shows the list.',
  },
  too_many_withdrawal_addresses: {
    status: 409,
    title: 'Allow-list full',
    detail: 'An allow-list holds at most 100 addresses. Remove one, then try again.',
  },
});

export const withdrawalErrors = { ...walletErrors, ...ownErrors };
