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
        'Closing is permanent. Every balance on every chain must be zero; otherwise 409 `balance_not_zero` lists what is left, and `forfeit` gives up amounts too small to move. Nothing may be in progress; otherwise 409 `account_busy` lists withdrawals, bridges, swaps, orders, purchases, held or arriving deposits, debts and domains. Closing revokes all keys, deletes all webhooks, cancels pending invoices that you sent or that are addressed to your handle, and erases your email, name, phone number, password and addresses. The shipping address of an unshipped order stays with that order until it is fulfilled or refunded, for at most 30 days. The ledger keeps your handle, but others can no longer find you by it. The email can be registered again. Later deposits are credited to the closed account; only the operator can then help, with a key that is valid for a day (`paywright account give-key`).',
      auth: 'key',
      countsKeys: true,
      scope: 'manage',
      body: z.strictObject({
        password: z.string().max(1024).meta({ description: 'The current password of the account.' }),
        forfeit: z
          .boolean()
          .default(false)
          .meta({
            description: `True permanently gives up the remaining balance: at most ${forfeitable} in total over all chains.`,
          }),
      }),
      examples: { body: { password: 'correct horse battery' } },
      returns: {
        200: {
          description: 'The account is closed and the calling key is revoked',
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
