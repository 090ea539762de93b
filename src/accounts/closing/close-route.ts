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
        'For good. Every balance must be zero on all chains (409 `balance_not_zero` says what is left and where; what is too little to be moved can be given up with `forfeit`), and nothing may be under way (409 `account_busy` lists it: withdrawals, bridges, swaps, orders, purchases, deposits that are held or arriving, debts, domains that are still yours). Then all keys and webhooks end, pending invoices that you sent or that are addressed to your handle are cancelled, and your email, name, phone number, password and addresses are erased. The address of an order that its shop still has to ship stays with the order until it is fulfilled or refunded, 30 days at most. The ledger stays under your handle, which finds no one any more. The email is free for a new account. Money that is sent to a deposit address afterwards is credited to the closed account, and only the operator can help: with a key for a day (`paywright account give-key`).',
      auth: 'key',
      countsKeys: true,
      scope: 'manage',
      body: z.strictObject({
        password: z.string().max(1024).meta({ description: 'The present password of the account.' }),
        forfeit: z
          .boolean()
          .default(false)
          .meta({
            description: `True gives up what is left, for good, in the same step: at most ${forfeitable}, over all chains.`,
          }),
      }),
      examples: { body: { password: 'correct horse battery' } },
      returns: {
        200: {
          description: 'The account is closed, and the key that called has ended',
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
