import { z } from 'zod';
import { countToday, dailyCapErrors } from '../kernel/daily-caps/count-today.ts';
import { defineRoute, ok, type Route } from '../kernel/http/define-route.ts';
import { httpErrors } from '../kernel/http/errors.ts';
import { reads } from '../kernel/http/tool.ts';
import { requireLiveKey } from '../ledger/require-live-key.ts';
import { closeAccount, forfeitable } from './closing/close-account.ts';
import { accountErrors, addressErrors } from './errors.ts';
import * as field from './fields.ts';
import type { AccountParts } from './parts.ts';
import {
  describeLimit,
  profile,
  profileChange,
  readProfile,
  setTier,
  tier as tierField,
  updateProfile,
} from './profile.ts';

export const exampleWallet = 'wal_01kp3v2m8rfk2s6y0e6v9q4w1x';
export const exampleAddress = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F';

export const exampleProfile = {
  handle: 'PA-7K2M9QXA',
  email: 'ada@example.com',
  emailVerified: true,
  pendingEmail: null,
  name: 'Ada',
  phone: '+14155550123',
  phoneVerified: true,
  pendingPhone: null,
  nextSteps: [],
  tier: 'free' as const,
  frozen: false,
  circleWalletId: exampleWallet,
  depositAddress: exampleAddress,
  withdrawalAddress: null,
  shippingAddress: null,
  duplicateGuard: false,
  createdAt: '2026-01-15T10:00:00.000Z',
};

export function profileRoutes(parts: AccountParts): Route[] {
  return [...ownAccountRoutes(parts), ...contactRoutes(parts)];
}

function ownAccountRoutes(parts: AccountParts): Route[] {
  const { db, changes, rateLimits } = parts;
  return [
    defineRoute(
      {
        id: 'getAccount',
        method: 'GET',
        path: '/account',
        tag: 'Accounts',
        summary: 'Retrieve your account',
        tool: { name: 'get_account', title: 'Your account', hints: reads },
        auth: 'key',
        scope: 'read',
        returns: {
          200: { description: 'The account that the API key belongs to', schema: profile, example: exampleProfile },
        },
      },
      async ({ caller }) => ok(await readProfile(db, caller.accountId)),
    ),
    defineRoute(
      {
        id: 'updateAccount',
        method: 'PATCH',
        path: '/account',
        tag: 'Accounts',
        summary: 'Update your account',
        description:
          'Send only the fields to change; null clears a field. A new phone number receives a code by SMS, which requires a verified email; confirm the number with POST /account/phone/verify. You receive an email when your withdrawalAddress changes. With `duplicateGuard`, a payment that repeats one of the last ten minutes is refused with `possible_duplicate`, whether or not the request has the header Duplicate-Guard. A shippingAddress is text on one or more lines with a street, city, postal code and country; an incomplete one is refused with `shipping_address_incomplete`, and one with a part of more than 200 characters with `shipping_address_too_long`. Without a name, your account name is used. The country may be omitted if region and postal code imply it, as in "1600 Amphitheatre Parkway, Mountain View, CA 94043".',
        auth: 'key',
        scope: 'manage',
        body: profileChange,
        examples: { body: { phone: '+1 (415) 555-0123' } },
        returns: { 200: { description: 'The updated account', schema: profile, example: exampleProfile } },
        errors: [
          addressErrors.shipping_address_incomplete,
          addressErrors.shipping_address_too_long,
          accountErrors.key_frozen,
          accountErrors.phone_taken,
          accountErrors.email_not_verified,
          accountErrors.too_many_attempts,
          dailyCapErrors.daily_cap_reached,
        ],
      },
      async ({ caller, body, ip }) =>
        ok(await updateProfile(parts, { caller, by: { keyId: caller.keyId, address: ip } }, body)),
    ),
    defineRoute(
      {
        id: 'setTier',
        method: 'POST',
        path: '/account/tier',
        tag: 'Accounts',
        summary: 'Change your rate-limit tier',
        description: '`pro` and `free` take effect immediately. For `enterprise`, contact the operator.',
        auth: 'key',
        scope: 'manage',
        body: z.strictObject({ tier: tierField }),
        examples: { body: { tier: 'pro' } },
        returns: {
          200: {
            description: 'The new tier',
            schema: z.object({ tier: tierField, rateLimit: z.string(), message: z.string() }),
            example: { tier: 'pro', rateLimit: '300 requests per minute', message: 'You are now on the pro tier.' },
          },
        },
        errors: [httpErrors.forbidden, dailyCapErrors.daily_cap_reached],
      },
      async ({ caller, body: { tier }, ip }) => {
        if (tier === 'enterprise')
          throw httpErrors.forbidden('Only the operator can set the enterprise tier. Contact the operator.');
        const { accountId, keyId } = caller;
        await changes.everywhere(accountId, async (tx) => {
          const changed = await setTier(tx, accountId, tier, { keyId, address: ip });
          if (changed) await countToday(tx, caller, 'settings');
        });
        const message = `You are now on the ${tier} tier.`;
        return ok({ tier, rateLimit: describeLimit(rateLimits, tier), message });
      },
    ),
  ];
}

function contactRoutes(parts: AccountParts): Route[] {
  const { verification, once, db } = parts;
  const contacts = [
    { kind: 'phone', noun: 'phone number', operation: 'Phone' },
    { kind: 'email', noun: 'email', operation: 'Email' },
  ] as const;
  return contacts.flatMap(({ kind, noun, operation }) => [
    defineRoute(
      {
        id: `verify${operation}`,
        method: 'POST',
        path: `/account/${kind}/verify`,
        tag: 'Accounts',
        summary: `Verify your ${noun}`,
        description: 'A code is valid for 15 minutes and five attempts.',
        auth: 'key',
        scope: 'manage',
        body: z.strictObject({ code: field.code }),
        examples: { body: { code: '493021' } },
        returns: { 200: { description: 'The verified account', schema: profile, example: exampleProfile } },
        errors: [
          accountErrors.wrong_code,
          accountErrors.no_code_waiting,
          ...(kind === 'phone' ? [accountErrors.phone_taken] : []),
        ],
      },
      async ({ caller: { accountId, keyId }, ip, body: { code } }) => {
        await verification.complete({ accountId, kind, code, by: { keyId, address: ip } });
        return ok(await readProfile(db, accountId));
      },
    ),
    defineRoute(
      {
        id: `send${operation}Code`,
        method: 'POST',
        path: `/account/${kind}/code`,
        tag: 'Accounts',
        summary: `Send the code for your ${noun} again`,
        description:
          'A new code replaces the old one. At most five codes an hour; daily limits apply per address, network and country, and in total.',
        auth: 'key',
        scope: 'manage',
        idempotent: true,
        returns: {
          200: {
            description: 'A new code was sent',
            schema: z.object({ sent: z.literal(true) }),
            example: { sent: true },
          },
        },
        errors: [
          accountErrors.no_code_waiting,
          accountErrors.too_many_attempts,
          ...(kind === 'phone' ? [accountErrors.email_not_verified] : []),
        ],
      },
      async (request) =>
        once(request, async (tx) => {
          const { accountId, keyId } = request.caller;
          await requireLiveKey(tx, { accountId, keyId });
          await verification.resend(tx, { accountId, kind, by: { keyId, address: request.ip } });
          return ok({ sent: true });
        }),
    ),
  ]);
}

export function closeRoute(parts: AccountParts): Route {
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
      const { handle, closedAt } = await closeAccount(parts, {
        accountId,
        password,
        forfeit,
        by: { keyId, address: ip },
      });
      return ok({ closed: true, handle, closedAt: closedAt.toISOString() });
    },
  );
}
