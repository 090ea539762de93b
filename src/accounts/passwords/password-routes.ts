import { z } from 'zod';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { accountErrors } from '../errors.ts';
import * as field from '../fields.ts';
import { exampleWebhooks, webhooksOfKeys } from '../keys/key-routes.ts';
import type { AccountParts } from '../parts.ts';

const revokeKeys = z
  .boolean()
  .default(false)
  .meta({ description: 'Ends every API key of the account, the calling one too.' });

const endWebhooks = z
  .boolean()
  .default(false)
  .meta({ description: 'With `revokeKeys`: ends the webhooks that were made with those keys too.' });

const set = {
  changed: z.literal(true),
  revokedKeys: z.int().meta({ description: 'How many keys were ended.' }),
  keysLeft: z.int().meta({ description: 'How many keys were not ended.' }),
  webhooks: webhooksOfKeys,
};

const exampleToken = 'pwr_EXAMPLEexampleEXAMPLEexampleEXAMPLEexampleEXA';

const asked =
  'If the email has an account, or an account that never verified it, a mail with a token is on its way. It is good for 30 minutes.';

export function passwordRoutes({ changePassword, askReset, confirmReset }: AccountParts): Route[] {
  return [
    defineRoute(
      {
        id: 'changePassword',
        method: 'POST',
        path: '/account/password',
        tag: 'Accounts',
        summary: 'Change your password',
        description:
          'Keys stay valid unless `revokeKeys` is true. Passwords that are known from breaches are refused. Three times a day; with a token from a mail as often as needed. The owner is told by mail.',
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
            description: 'The new password holds',
            schema: z.object(set),
            example: { changed: true, revokedKeys: 3, keysLeft: 0, webhooks: exampleWebhooks },
          },
        },
        errors: [accountErrors.wrong_password, accountErrors.password_too_common, accountErrors.too_many_attempts],
      },
      async ({ caller: { accountId, keyId }, ip, body }) => {
        const done = await changePassword({ ...body, accountId, by: { keyId, address: ip } });
        return ok({ changed: true, ...done });
      },
    ),
    defineRoute(
      {
        id: 'askPasswordReset',
        method: 'POST',
        path: '/account/password/reset',
        tag: 'Accounts',
        summary: 'Ask for a new password',
        description:
          'Mails a token with which a new password can be set. The answer is always the same, whoever the email belongs to. An email that an account was registered with and never verified becomes, with such a token, that of a new account.',
        auth: 'none',
        body: z.strictObject({ email: field.email }),
        examples: { body: { email: 'ada@example.com' } },
        returns: {
          200: {
            description: 'Whatever there is to mail will be mailed',
            schema: z.object({ asked: z.literal(true), message: z.string() }),
            example: { asked: true, message: asked },
          },
        },
        errors: [accountErrors.too_many_attempts],
      },
      async ({ body: { email }, ip }) => {
        await askReset({ email, ip });
        return ok({ asked: true, message: asked });
      },
    ),
    defineRoute(
      {
        id: 'confirmPasswordReset',
        method: 'POST',
        path: '/account/password/reset/confirm',
        tag: 'Accounts',
        summary: 'Set a new password with a token',
        description:
          'With the token from the mail, once. Sign in afterwards to get a key. Where the email was registered and never verified, the token makes a new account with it; the one before keeps its handle, keys and money, shows `email: null` from then on, and cannot sign in by email any more.',
        auth: 'none',
        body: z.strictObject({
          token: z.string().max(200),
          newPassword: field.password,
          revokeKeys,
          endWebhooks,
          name: field.name.optional().meta({
            description: 'Of the new account, if there is to be one; otherwise the part of the email before the @.',
          }),
        }),
        examples: { body: { token: exampleToken, newPassword: 'a longer horse battery', revokeKeys: true } },
        returns: {
          200: {
            description: 'The new password holds',
            schema: z.object({
              ...set,
              handle: z.string().meta({ description: 'Of the account that the password is for.' }),
              isNewAccount: z.boolean().meta({ description: 'Whether the account was made by this call.' }),
            }),
            example: {
              changed: true,
              revokedKeys: 3,
              keysLeft: 0,
              webhooks: exampleWebhooks,
              handle: 'PA-7K2M9QXA',
              isNewAccount: false,
            },
          },
        },
        errors: [accountErrors.reset_token_invalid, accountErrors.password_too_common],
      },
      async ({ body, ip }) => {
        const done = await confirmReset({ ...body, name: body.name, ip });
        return ok({ changed: true, ...done });
      },
    ),
  ];
}
