import { z } from 'zod';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { accountErrors } from '../errors.ts';
import * as field from '../fields.ts';
import type { AccountParts } from '../parts.ts';
import { readProfile } from '../profile.ts';
import { exampleProfile, profile } from '../profile-routes.ts';

export function emailRoutes(parts: AccountParts): Route[] {
  return [askRoute(parts), confirmRoute(parts), withdrawRoute(parts)];
}

function askRoute({ askEmailChange }: AccountParts): Route {
  return defineRoute(
    {
      id: 'changeEmail',
      method: 'POST',
      path: '/account/email',
      tag: 'Accounts',
      summary: 'Change your email',
      description:
        'Sends a code to the new address, and one to the present address if it is verified. The email changes when POST /account/email/confirm has had both within 15 minutes; until then everything stays as it is. Asking again replaces the codes. The answer does not tell whether another account has the address. Five times an hour, and as many codes a day as the operator allows. In a sandbox that verifies by itself the email changes at once.',
      auth: 'key',
      scope: 'manage',
      body: z.strictObject({
        email: field.email,
        password: z.string().max(1024).meta({ description: 'The present password of the account.' }),
      }),
      examples: { body: { email: 'ada@example.org', password: 'correct horse battery' } },
      returns: {
        200: {
          description: 'Codes are on their way, or the email has changed',
          schema: z.object({
            changed: z.boolean().meta({ description: 'Whether the account has the new email already.' }),
            currentCodeNeeded: z
              .boolean()
              .meta({ description: 'Whether the code that was sent to the present address is needed too.' }),
            expiresAt: z.iso.datetime().nullable().meta({ description: 'Until when the codes are good.' }),
          }),
          example: { changed: false, currentCodeNeeded: true, expiresAt: '2026-01-15T10:15:00.000Z' },
        },
      },
      errors: [accountErrors.wrong_password, accountErrors.too_many_attempts, accountErrors.email_taken],
    },
    async ({ caller: { accountId, keyId }, ip, body }) => {
      const { expiresAt, ...asked } = await askEmailChange({ ...body, accountId, by: { keyId, address: ip } });
      return ok({ ...asked, expiresAt: expiresAt?.toISOString() ?? null });
    },
  );
}

function confirmRoute({ db, confirmEmailChange }: AccountParts): Route {
  return defineRoute(
    {
      id: 'confirmEmail',
      method: 'POST',
      path: '/account/email/confirm',
      tag: 'Accounts',
      summary: 'Confirm your new email',
      description:
        'With the codes from both mails. Five attempts. From then on the new address signs in, and finds the account; tokens for a new password that were mailed to the old one are worth nothing. Pending invoices to an email belong to that email: those to the old address leave your list, those to the new one join it. The old address is told.',
      auth: 'key',
      scope: 'manage',
      body: z.strictObject({
        code: field.code.meta({ description: 'From the mail to the new address.' }),
        currentCode: field.code
          .optional()
          .meta({ description: 'From the mail to the present address. Needed if that address was verified.' }),
      }),
      examples: { body: { code: '493021', currentCode: '120394' } },
      returns: { 200: { description: 'The account with its new email', schema: profile, example: exampleProfile } },
      errors: [accountErrors.wrong_code, accountErrors.no_code_waiting, accountErrors.email_taken],
    },
    async ({ caller: { accountId, keyId }, ip, body: { code, currentCode } }) => {
      await confirmEmailChange({ accountId, code, currentCode, by: { keyId, address: ip } });
      return ok(await readProfile(db, accountId));
    },
  );
}

function withdrawRoute({ db }: AccountParts): Route {
  return defineRoute(
    {
      id: 'cancelEmailChange',
      method: 'DELETE',
      path: '/account/email',
      tag: 'Accounts',
      summary: 'Keep your email',
      description:
        'Takes back a change of the email that waits for its codes, which are worth nothing from then on. The present email stays. Fine also if there is no such change.',
      auth: 'key',
      scope: 'manage',
      returns: {
        200: {
          description: 'No change is waiting',
          schema: z.object({ pendingEmail: z.null() }),
          example: { pendingEmail: null },
        },
      },
    },
    async ({ caller: { accountId } }) => {
      await db.query('DELETE FROM email_changes WHERE account_id = $1', [accountId]);
      return ok({ pendingEmail: null });
    },
  );
}
