import { defineErrors } from '../../kernel/http/problem.ts';

export const withdrawalErrors = defineErrors({
  withdrawal_address_required: {
    status: 400,
    title: 'No withdrawal address',
    detail: 'Give an address, or save a default one as withdrawalAddress with PATCH /account.',
  },
  withdrawal_address_refused: {
    status: 400,
    title: 'Withdrawal address refused',
    detail:
      'Money sent there would be lost: it is an address that nobody has a key to, a contract that has no use for it, or a wallet of this service.',
  },
  chain_not_available: {
    status: 400,
    title: 'Chain not available',
    detail: 'This service does not reach that chain.',
  },
  currency_not_available: {
    status: 400,
    title: 'Currency not available on this chain',
    detail: 'There is no such token on that chain. Balances and transfers within the service are not affected.',
  },
  withdrawal_not_found: {
    status: 404,
    title: 'No such withdrawal',
    detail: 'You have no withdrawal with this txId.',
  },
  withdrawal_not_cancellable: {
    status: 409,
    title: 'Cannot be cancelled',
    detail:
      'It is over, is being sent, or is held by the operator. Only what nobody was asked to send can be cancelled.',
  },
  amount_too_small: {
    status: 400,
    title: 'Amount too small for this chain',
    detail:
      'The fee of this amount does not pay for the gas that the payment takes. Withdraw more, or on another chain.',
  },
  withdrawal_address_not_found: {
    status: 404,
    title: 'No such address',
    detail: 'This address is not on your allow-list.',
  },
  too_many_withdrawal_addresses: {
    status: 409,
    title: 'Too many addresses',
    detail: 'An allow-list holds at most 100 addresses. Remove one first.',
  },
});
