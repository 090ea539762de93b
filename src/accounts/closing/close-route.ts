import { z } from 'zod';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { accountErrors } from '../errors.ts';
import type { AccountParts } from '../parts.ts';
import { forfeitable } from './forfeit.ts';

export function closeRoute({ closeAccount }: AccountParts): Route {
  return defineRoute(
    {
      id: 'closeAccount',
      method: 'POST',
      path: '/account/close',
      tag: 'Accounts',
      summary: 'Close your account',
      description:
        'Closing is final. Every balance must be zero on all chains: 409 `balance_not_zero` lists what is left. A balance that is too small to move can be given up with `forfeit`. Nothing may be in progress: 409 `account_busy` lists withdrawals, bridge transfers, swaps, orders, purchases, held or arriving deposits, debts and domains that you still own. Closing ends all keys and webhooks, cancels pending invoices that you sent or that are addressed to your handle, and erases your email, name, phone number, password and addresses. The address of an unshipped order stays with the order until it is fulfilled or refunded, for at most 30 days. The ledger entries stay under your handle, which can no longer be found. The email can be used for a new account. Money that later arrives at a deposit address is credited to the closed account; ask the operator for a key to pay it out (`paywright account give-key`).',
      auth: 'key',
      countsKeys: true,
      scope: 'manage',
      body: z.strictObject({
        password: z.string().max(1024).meta({ description: 'The current password of the account.' }),
        forfeit: z
          .boolean()
          .default(false)
          .meta({
            description: `True gives up the remaining balance for good: at most ${forfeitable}, summed over all chains.`,
          }),
      }),
      examples: { body: { password: 'correct horse battery' } },
      returns: {
        200: {
          description: 'The account is closed, and the key of this request has ended',
          schema: z.object({ closed: z.literal(true), handle: z.string(), closedAt: z.iso.datetime() }),
          example: { closed: true, handle: 'PA-7K2M9QXA', closedAt: '2026-01-15T10:00:00.000Z' },
        },
      },
      errors: [
        accountErrors.wrong_password,
        accountErrors.too_many_attempts,
        accountErrors.balance_not_zero,
        accountErrors.account_busy,
      ],
    },
    async ({ caller: { accountId, keyId }, ip, body: { password, forfeit } }) => {
      const { handle, closedAt } = await closeAccount({ accountId, password, forfeit, by: { keyId, address: ip } });
      return ok({ closed: true, handle, closedAt: closedAt.toISOString() });
    },
  );
}
