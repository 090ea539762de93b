import { z } from 'zod';
import { countToday } from '../kernel/daily-caps/count-today.ts';
import { dailyCapErrors } from '../kernel/daily-caps/errors.ts';
import { defineRoute, ok, type Route } from '../kernel/http/define-route.ts';
import { httpErrors } from '../kernel/http/errors.ts';
import { requireLiveKey } from '../ledger/require-live-key.ts';
import { addressErrors } from './addresses/errors.ts';
import { accountErrors } from './errors.ts';
import * as field from './fields.ts';
import type { AccountParts } from './parts.ts';
import { readProfile, updateProfile } from './profile.ts';
import { describeLimit, setTier, tier as tierField } from './tier.ts';

export const exampleWallet = 'wal_01kp3v2m8rfk2s6y0e6v9q4w1x';
export const exampleAddress = '0x71C7656EC7ab88b098defB751B7401B5f6d8976F';

export const profile = z.object({
  handle: z.string(),
  email: z.string().nullable().meta({ description: 'Null once somebody else has proved that the mailbox is theirs.' }),
  emailVerified: z.boolean().meta({ description: 'Only a verified email finds this account.' }),
  pendingEmail: z.string().nullable().meta({ description: 'An email that waits for its codes.' }),
  name: z.string(),
  phone: z.string().nullable().meta({ description: 'E.164.' }),
  phoneVerified: z.boolean().meta({ description: 'Only a verified number finds this account.' }),
  pendingPhone: z.string().nullable().meta({ description: 'A number that waits for its code.' }),
  nextSteps: field.nextSteps,
  tier: tierField,
  frozen: z.boolean().meta({ description: 'A frozen account can receive but not send.' }),
  circleWalletId: z.string(),
  depositAddress: z.string(),
  withdrawalAddress: z.string().nullable(),
  shippingAddress: z.string().nullable().meta({ description: 'As you wrote it.' }),
  createdAt: z.iso.datetime(),
});

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
        summary: 'Your account',
        auth: 'key',
        scope: 'read',
        returns: { 200: { description: 'The account behind the key', schema: profile, example: exampleProfile } },
      },
      async ({ caller }) => ok(await readProfile(db, caller.accountId)),
    ),
    defineRoute(
      {
        id: 'updateAccount',
        method: 'PATCH',
        path: '/account',
        tag: 'Accounts',
        summary: 'Change your account',
        description:
          'Send only what should change; null clears a field. A new phone number is sent a code by SMS, once your email is verified, and stands for you when POST /account/phone/verify has had it. You are told by email when your withdrawalAddress changes. A shippingAddress is text on one line or several; one that lacks a street, a city, a postal code or a country is refused with `shipping_address_incomplete`, and one with a part of more than 200 characters with `shipping_address_too_long`. Without a name it is for you, and the country may be left out where region and postal code tell it, as in "1600 Amphitheatre Parkway, Mountain View, CA 94043".',
        auth: 'key',
        scope: 'manage',
        body: z.strictObject({
          name: field.name.optional(),
          phone: field.phone.nullable().optional(),
          withdrawalAddress: field.withdrawalAddress.nullable().optional(),
          shippingAddress: field.shippingAddress.nullable().optional(),
        }),
        examples: { body: { phone: '+1 (415) 555-0123' } },
        returns: { 200: { description: 'The account as it is now', schema: profile, example: exampleProfile } },
        errors: [
          addressErrors.shipping_address_incomplete,
          addressErrors.shipping_address_too_long,
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
        description: '`pro` and `free` take effect at once. `enterprise` is arranged with the operator.',
        auth: 'key',
        scope: 'manage',
        body: z.strictObject({ tier: tierField }),
        examples: { body: { tier: 'pro' } },
        returns: {
          200: {
            description: 'The tier from now on',
            schema: z.object({ tier: tierField, rateLimit: z.string(), message: z.string() }),
            example: { tier: 'pro', rateLimit: '300 requests per minute', message: 'You are on the pro tier now.' },
          },
        },
        errors: [httpErrors.forbidden, dailyCapErrors.daily_cap_reached],
      },
      async ({ caller, body: { tier }, ip }) => {
        if (tier === 'enterprise') throw httpErrors.forbidden('The enterprise tier is arranged with the operator.');
        const { accountId, keyId } = caller;
        await changes.everywhere(accountId, async (tx) => {
          const changed = await setTier(tx, { accountId, tier, by: { keyId, address: ip } });
          if (changed) await countToday(tx, caller, 'settings');
        });
        const message = `You are on the ${tier} tier now.`;
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
        description: 'Five attempts per code, which is good for 15 minutes.',
        auth: 'key',
        scope: 'manage',
        body: z.strictObject({ code: field.code }),
        examples: { body: { code: '493021' } },
        returns: { 200: { description: 'The account, now verified', schema: profile, example: exampleProfile } },
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
          'A new code replaces the old one. Five an hour, and as many a day to one address, from one network, to one country and in all as the operator allows.',
        auth: 'key',
        scope: 'manage',
        idempotent: true,
        returns: {
          200: {
            description: 'A new code is on its way',
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
