import { z } from 'zod';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { accountErrors } from '../errors.ts';
import * as field from '../fields.ts';
import { exampleWebhooks, keyWebhooks } from '../keys/key-routes.ts';
import type { AccountParts } from '../parts.ts';
import { changePassword } from './change-password.ts';
import { confirmReset } from './confirm-reset.ts';
import { askReset } from './mail-reset.ts';

const revokeKeys = z
  .boolean()
  .default(false)
  .meta({ description: 'Revokes every API key of the account, including the calling one.' });

const endWebhooks = z
  .boolean()
  .default(false)
  .meta({ description: 'With `revokeKeys`: also deletes the webhooks that were created with those keys.' });

const set = {
  changed: z.literal(true),
  revokedKeys: z.int().meta({ description: 'The number of keys that were revoked.' }),
  keysLeft: z.int().meta({ description: 'The number of keys that are still valid.' }),
  webhooks: keyWebhooks,
};

const exampleSet = { changed: true as const, revokedKeys: 3, keysLeft: 0, webhooks: exampleWebhooks };

const exampleToken = 'pwr_EXAMPLEexampleEXAMPLEexampleEXAMPLEexampleEXA';

const asked =
  'If an account was registered with this email, an email with a reset token was sent. The token is valid for 30 minutes.';

export function passwordRoutes(parts: AccountParts): Route[] {
  return [
    defineRoute(
      {
        id: 'changePassword',
        method: 'POST',
        path: '/account/password',
        tag: 'Accounts',
        summary: 'Change your password',
        description:
          'API keys stay valid unless `revokeKeys` is true. Passwords known from data breaches are refused. At most three changes a day; a password reset by email is always possible. The account owner receives an email.',
        auth: 'key',
        countsKeys: true,
        scope: 'manage',
        body: z.strictObject({
          currentPassword: z.string().max(1024),
          newPassword: field.password,
          revokeKeys,
          endWebhooks,
        }),
        examples: {
          body: { currentPassword: 'correct horse battery', newPassword: 'a longer horse battery', revokeKeys: true },
        },
        returns: {
          200: {
            description: 'The password was changed',
            schema: z.object(set),
            example: exampleSet,
          },
        },
        errors: [accountErrors.wrong_password, accountErrors.password_too_common, accountErrors.too_many_attempts],
      },
      async ({ caller: { accountId, keyId }, ip, body }) => {
        const done = await changePassword(parts, { ...body, accountId, by: { keyId, address: ip } });
        return ok({ changed: true, ...done });
      },
    ),
    defineRoute(
      {
        id: 'askPasswordReset',
        method: 'POST',
        path: '/account/password/reset',
        tag: 'Accounts',
        summary: 'Request a password reset',
        description:
          'Sends an email with a token to set a new password. The response is the same whether or not the email has an account. If an account was registered with the email but never verified it, the token creates a new account for the email instead.',
        auth: 'none',
        body: z.strictObject({ email: field.email }),
        examples: { body: { email: 'ada@example.com' } },
        returns: {
          200: {
            description: 'An email is sent if the address qualifies',
            schema: z.object({ asked: z.literal(true), message: z.string() }),
            example: { asked: true, message: asked },
          },
        },
        errors: [accountErrors.too_many_attempts],
      },
      async ({ body: { email }, ip }) => {
        await askReset(parts, { email, ip });
        return ok({ asked: true, message: asked });
      },
    ),
    defineRoute(
      {
        id: 'confirmPasswordReset',
        method: 'POST',
        path: '/account/password/reset/confirm',
        tag: 'Accounts',
        summary: 'Reset your password',
        description:
          'Sets a new password with the token from the email, which works once. Sign in afterwards to get an API key. If the email was registered but never verified, the token creates a new account with it; the earlier account keeps its handle, keys and money, but loses the email and can no longer sign in with it.',
        auth: 'none',
        body: z.strictObject({
          token: z.string().max(200),
          newPassword: field.password,
          revokeKeys,
          endWebhooks,
          name: field.name.optional().meta({
            description:
              'The name of the new account, if one is created. Defaults to the part of the email before the @.',
          }),
        }),
        examples: { body: { token: exampleToken, newPassword: 'a longer horse battery', revokeKeys: true } },
        returns: {
          200: {
            description: 'The password was changed',
            schema: z.object({
              ...set,
              handle: z.string().meta({ description: 'The handle of the account whose password was set.' }),
              isNewAccount: z.boolean().meta({ description: 'Whether this request created the account.' }),
            }),
            example: { ...exampleSet, handle: 'PA-7K2M9QXA', isNewAccount: false },
          },
        },
        errors: [accountErrors.reset_token_invalid, accountErrors.password_too_common],
      },
      async ({ body, ip }) => ok({ changed: true, ...(await confirmReset(parts, { ...body, ip })) }),
    ),
  ];
}
