import { z } from 'zod';
import { dailyCapErrors } from '../kernel/daily-caps/count-today.ts';
import { created, defineRoute, ok, type Route } from '../kernel/http/define-route.ts';
import { reads } from '../kernel/http/tool.ts';
import { untrusted } from '../kernel/http/untrusted.ts';
import { emailRoutes } from './emails/email-routes.ts';
import { accountErrors } from './errors.ts';
import * as field from './fields.ts';
import { explainNotFound, findAccount } from './find-account.ts';
import { keyRoutes } from './keys/key-routes.ts';
import type { AccountParts } from './parts.ts';
import { passwordRoutes } from './passwords/password-routes.ts';
import { nextSteps } from './profile.ts';
import { closeRoute, exampleAddress, exampleWallet, profileRoutes } from './profile-routes.ts';
import { type Registered, register } from './register.ts';
import { sessionRoutes } from './sessions/session-routes.ts';

const { exampleKey, shownKey } = field;
const keyExpiresAt = z.iso.datetime().nullable().meta({
  description: 'When the key expires if it is not used; every use extends it. Null if unused keys do not expire.',
});
const exampleEnd = '2026-04-15T10:00:00.000Z';
const accountHandle = z.string().meta({ description: 'The handle that others use to pay you.' });
const walletId = z.string().meta({ description: 'The custodial wallet that belongs to the account.' });
const depositTo = z.string().meta({ description: 'The Polygon address that receives deposits.' });

const emailVerified = z
  .boolean()
  .meta({ description: 'Others can find the account by email only once it is verified.' });
const ending = { keyExpiresAt, emailVerified, nextSteps: field.nextSteps };
const verified = { emailVerified: true, nextSteps: [] };
const unverified = { emailVerified: false, nextSteps: nextSteps({ email: 'ada@example.com', emailVerified: false }) };

const registration = z.strictObject({
  email: field.email,
  password: field.password,
  name: field.name.optional().meta({ description: 'Required for new accounts.' }),
  otp: field.otp.optional(),
});
const exampleRegistration = { email: 'ada@example.com', password: 'correct horse battery', name: 'Ada' };

const registrationNote =
  'If the email already has an account, this signs in to it. Every call returns a new API key, which is shown only once; earlier keys stay valid until they are revoked. Repeated wrong passwords slow down responses to your network, but never lock anyone else out. An account with a second factor also needs `otp`. A new account receives a verification code by email; `nextSteps` says how to use it, and is empty when everything is verified.';

const byEmailOrHandle = z
  .strictObject({ email: field.email.optional(), handle: field.handle.optional() })
  .refine(
    ({ email, handle }) => (email === undefined) !== (handle === undefined),
    'must have either email or handle, not both',
  );

const byAnyName = z
  .strictObject({ email: field.email.optional(), handle: field.handle.optional(), phone: field.phone.optional() })
  .refine(
    (given) => Object.values(given).filter((value) => value !== undefined).length === 1,
    'must have exactly one of email, handle and phone',
  );

export function accountRoutes(parts: AccountParts): Route[] {
  return [
    ...registrationRoutes(parts),
    ...lookupRoutes(parts),
    ...profileRoutes(parts),
    ...emailRoutes(parts),
    ...passwordRoutes(parts),
    ...keyRoutes(parts),
    ...sessionRoutes(parts),
    closeRoute(parts),
  ];
}

function registrationRoutes(parts: AccountParts): Route[] {
  const errors = [
    accountErrors.wrong_password,
    accountErrors.second_factor_required,
    accountErrors.wrong_second_factor,
    accountErrors.password_too_common,
    accountErrors.too_many_attempts,
    accountErrors.too_many_registrations,
    dailyCapErrors.daily_cap_reached,
  ];
  return [
    defineRoute(
      {
        id: 'registerAgent',
        method: 'POST',
        path: '/agent/register',
        tag: 'Accounts',
        summary: 'Register or sign in',
        description: registrationNote,
        auth: 'none',
        body: registration,
        examples: { body: exampleRegistration },
        returns: {
          200: {
            description: 'Signed in to an existing account',
            schema: z.object({
              apiKey: shownKey,
              agentHandle: accountHandle,
              isNewAccount: z.literal(false),
              ...ending,
            }),
            example: {
              apiKey: exampleKey,
              agentHandle: 'PA-7K2M9QXA',
              isNewAccount: false,
              keyExpiresAt: exampleEnd,
              ...verified,
            },
          },
          201: {
            description: 'A new account with its wallet',
            schema: z.object({
              apiKey: shownKey,
              agentHandle: accountHandle,
              circleWalletId: walletId,
              depositAddress: depositTo,
              isNewAccount: z.literal(true),
              ...ending,
            }),
            example: {
              apiKey: exampleKey,
              agentHandle: 'PA-7K2M9QXA',
              circleWalletId: exampleWallet,
              depositAddress: exampleAddress,
              isNewAccount: true,
              keyExpiresAt: exampleEnd,
              ...unverified,
            },
          },
        },
        errors,
      },
      async ({ body, ip, caller }) => {
        const account = await register(parts, { ...body, ip, caller });
        const { apiKey, keyExpiresAt: ends, handle: agentHandle } = account;
        const answer = { apiKey, keyExpiresAt: ends, agentHandle, ...proofOf(account) };
        if (!account.isNewAccount) return ok({ ...answer, isNewAccount: false });
        const { walletId: circleWalletId, depositAddress } = account;
        return created({ ...answer, circleWalletId, depositAddress, isNewAccount: true });
      },
    ),
    defineRoute(
      {
        id: 'registerCircle',
        method: 'POST',
        path: '/circle/register',
        tag: 'Accounts',
        summary: 'Register or sign in, and get the wallet',
        description: registrationNote,
        auth: 'none',
        body: registration,
        examples: { body: exampleRegistration },
        returns: {
          200: circleRegistration('Signed in to an existing account'),
          201: circleRegistration('A new account with its wallet'),
        },
        errors,
      },
      async ({ body, ip, caller }) => {
        const account = await register(parts, { ...body, ip, caller });
        const { apiKey, keyExpiresAt: ends, walletId: circleWalletId, handle, email } = account;
        const answer = { apiKey, keyExpiresAt: ends, circleWalletId, handle, email, ...proofOf(account) };
        return account.isNewAccount ? created(answer) : ok(answer);
      },
    ),
  ];
}

function circleRegistration(description: string) {
  return {
    description,
    schema: z.object({
      apiKey: shownKey,
      circleWalletId: walletId,
      handle: accountHandle,
      email: z.string(),
      ...ending,
    }),
    example: {
      apiKey: exampleKey,
      circleWalletId: exampleWallet,
      handle: 'PA-7K2M9QXA',
      email: 'ada@example.com',
      keyExpiresAt: exampleEnd,
      ...unverified,
    },
  };
}

function proofOf({ email, emailVerified: isVerified }: Registered) {
  return { emailVerified: isVerified, nextSteps: nextSteps({ email, emailVerified: isVerified }) };
}

function lookupRoutes({ db }: AccountParts): Route[] {
  const find = async ({ email, handle, phone }: z.output<typeof byAnyName>) => {
    const by = email !== undefined ? { email } : phone !== undefined ? { phone } : { handle: handle ?? '' };
    const account = await findAccount(db, by);
    if (account === undefined) throw accountErrors.account_not_found(explainNotFound(by));
    return account;
  };
  const description = 'Give either an email or a handle. An email matches only if its owner has verified it.';
  return [
    defineRoute(
      {
        id: 'checkAgent',
        method: 'GET',
        path: '/agents/check',
        tag: 'Accounts',
        summary: 'Check whether an account exists',
        description,
        auth: 'key',
        scope: 'read',
        query: byEmailOrHandle,
        examples: { query: { handle: 'PA-7K2M9QXA' } },
        returns: {
          200: {
            description: 'The account',
            schema: z.object({
              found: z.literal(true),
              handle: z.string(),
              email: untrusted.nullable().meta({ description: 'Null if its owner has not verified it.' }),
            }),
            example: { found: true, handle: 'PA-7K2M9QXA', email: 'ada@example.com' },
          },
        },
        errors: [accountErrors.account_not_found],
      },
      async ({ query }) => {
        const { handle, email } = await find(query);
        return ok({ found: true, handle, email });
      },
    ),
    defineRoute(
      {
        id: 'lookupAccount',
        method: 'GET',
        path: '/circle/lookup',
        tag: 'Accounts',
        summary: 'Look up the recipient of a payment',
        tool: { name: 'find_recipient', title: 'Find a recipient', hints: reads },
        description:
          'Give an email, a handle or a phone number. An email or phone number matches only if its owner has verified it.',
        auth: 'key',
        scope: 'read',
        query: byAnyName,
        examples: { query: { email: 'ada@example.com' } },
        returns: {
          200: {
            description: 'The account',
            schema: z.object({ found: z.literal(true), handle: z.string(), name: untrusted }),
            example: { found: true, handle: 'PA-7K2M9QXA', name: 'Ada' },
          },
        },
        errors: [accountErrors.account_not_found],
      },
      async ({ query }) => {
        const { handle, name } = await find(query);
        return ok({ found: true, handle, name });
      },
    ),
  ];
}
