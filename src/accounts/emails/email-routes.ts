import { z } from 'zod';
import { defineRoute, ok, type Route } from '../../kernel/http/define-route.ts';
import { accountErrors } from '../errors.ts';
import * as field from '../fields.ts';
import type { AccountParts } from '../parts.ts';
import { profile, readProfile } from '../profile.ts';
import { exampleProfile } from '../profile-routes.ts';
import { askEmailChange, confirmEmailChange } from './change-email.ts';

export function emailRoutes(parts: AccountParts): Route[] {
  return [askRoute(parts), confirmRoute(parts), withdrawRoute(parts)];
}

function askRoute(parts: AccountParts): Route {
  return defineRoute(
    {
      id: 'changeEmail',
      method: 'POST',
      path: '/account/email',
      tag: 'Accounts',
      summary: 'Change your email',
      description:
        'Sends a code to the new address, and another to the current address if that is verified. The email changes when you send the codes to POST /account/email/confirm within 15 minutes. A repeated request replaces the codes. The response does not reveal whether another account has the address. At most five requests an hour; the operator sets a daily limit of codes. In a sandbox with automatic verification the email changes immediately.',
      auth: 'key',
      scope: 'manage',
      body: z.strictObject({
        email: field.email,
        password: z.string().max(1024).meta({ description: 'The current password of the account.' }),
      }),
      examples: { body: { email: 'ada@example.org', password: 'correct horse battery' } },
      returns: {
        200: {
          description: 'The codes were sent, or the email has changed',
          schema: z.object({
            changed: z.boolean().meta({ description: 'Whether the email has already changed.' }),
            currentCodeNeeded: z
              .boolean()
              .meta({ description: 'Whether the code sent to the current address is also required.' }),
            expiresAt: z.iso.datetime().nullable().meta({ description: 'When the codes expire.' }),
          }),
          example: { changed: false, currentCodeNeeded: true, expiresAt: '2026-01-15T10:15:00.000Z' },
        },
      },
      errors: [accountErrors.wrong_password, accountErrors.too_many_attempts, accountErrors.email_taken],
    },
    async ({ caller: { accountId, keyId }, ip, body }) => {
      const { expiresAt, ...asked } = await askEmailChange(parts, { ...body, accountId, by: { keyId, address: ip } });
      return ok({ ...asked, expiresAt: expiresAt?.toISOString() ?? null });
    },
  );
}

function confirmRoute(parts: AccountParts): Route {
  return defineRoute(
    {
      id: 'confirmEmail',
      method: 'POST',
      path: '/account/email/confirm',
      tag: 'Accounts',
      summary: 'Confirm your new email',
      description:
        'Send the codes from both emails; there are five attempts. Afterwards you sign in with the new address, and others find the account by it. Password reset tokens sent to the old address become invalid. Pending invoices stay with the email they were addressed to: those to the old address leave your list, and those to the new one appear in it. The old address receives a notice.',
      auth: 'key',
      scope: 'manage',
      body: z.strictObject({
        code: field.code.meta({ description: 'From the email to the new address.' }),
        currentCode: field.code
          .optional()
          .meta({ description: 'From the email to the current address. Required if that address was verified.' }),
      }),
      examples: { body: { code: '493021', currentCode: '120394' } },
      returns: { 200: { description: 'The account with its new email', schema: profile, example: exampleProfile } },
      errors: [accountErrors.wrong_code, accountErrors.no_code_waiting, accountErrors.email_taken],
    },
    async ({ caller: { accountId, keyId }, ip, body: { code, currentCode } }) => {
      await confirmEmailChange(parts, { accountId, code, currentCode, by: { keyId, address: ip } });
      return ok(await readProfile(parts.db, accountId));
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
      summary: 'Cancel an email change',
      description:
        'Cancels a pending email change and invalidates its codes. The current email stays. Succeeds even if no change is pending.',
      auth: 'key',
      scope: 'manage',
      returns: {
        200: {
          description: 'No email change is pending',
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
