import { z } from 'zod';
import type { Feature } from '../kernel/feature.ts';
import type { GatherHook } from '../kernel/hook.ts';
import { defineSettings, type Mode, wholeNumber } from '../kernel/settings.ts';
import type { AccountChanges } from './account-changes.ts';
import { accountEvents } from './account-events.ts';
import { accountClosing, beforeAccountClosing, underWay } from './closing/on-account-closing.ts';
import { addAccountCommands, addRemoveFactorCommand, addResetCommand } from './commands.ts';
import type { WalletSource } from './insert-account.ts';
import { addGiveKeyCommand, addKeyCommands } from './keys/key-commands.ts';
import { keyRotated, keysEnded } from './keys/on-keys-ended.ts';
import { addOAuthEndpoints } from './oauth/endpoints.ts';
import type { ExchangeParts } from './oauth/exchange.ts';
import { endUntakenGrantHandler } from './oauth/grant.ts';
import type { AccountLimits, AccountParts, AccountSettings } from './parts.ts';
import { type MailResetParts, mailResetHandler } from './passwords/mail-reset.ts';
import type { Passwords } from './passwords/passwords.ts';
import { createFailureRecorder } from './passwords/require-password.ts';
import type { SignInThrottle } from './passwords/sign-in-throttle.ts';
import { accountRoutes } from './routes.ts';
import { createVerification } from './verification.ts';

/** Bounds what strangers can make the service send, and how fast they can guess passwords. A test may replace any of them. */
export function accountLimits(mode: Mode): AccountLimits {
  return {
    // A school or an office behind one address stays below 200; a sandbox has one user who tries things out.
    registrationsPerNetwork: mode === 'live' ? 200 : 0,
    codeLimits: {
      // Each SMS costs money, and fraud sends many to one expensive country.
      sms: { inAll: 1_000, perCountry: 200, perTarget: 5, perNetwork: 10 },
      // Beyond them registration still works; the code is sent when it is asked for again.
      mails: { inAll: 20_000, perCountry: 0, perTarget: 10, perNetwork: 100 },
    },
    resetLimits: { inAll: 5_000, perNetwork: 20, perMailbox: 3 },
    // Below the patience of a browser. The right password is always taken.
    longestDelayMs: 6_000,
  };
}

const dayMs = 24 * 60 * 60_000;

type Passed =
  | 'db'
  | 'once'
  | 'secrets'
  | 'ledger'
  | 'limiter'
  | 'rateLimits'
  | 'logger'
  | 'clock'
  | 'sagas'
  | 'publicUrl';

interface AccountServing extends Pick<AccountParts, Passed> {
  readonly provider: WalletSource;
  readonly accountChanges: AccountChanges;
  readonly gatherHook: GatherHook;
  readonly passwords: Passwords;
  readonly throttle: SignInThrottle;
}

interface AccountPages extends Omit<ExchangeParts, 'changes' | 'onKeysEnded'> {
  readonly accountChanges: AccountChanges;
  readonly gatherHook: GatherHook;
}

interface AccountWorking extends Omit<MailResetParts, 'resetLimits'>, Pick<AccountParts, 'clock'> {
  readonly gatherHook: GatherHook;
}

export const accounts: Feature<{
  settings: AccountSettings;
  serving: AccountServing;
  pages: AccountPages;
  working: AccountWorking;
}> = {
  name: 'accounts',
  chapters: [{ name: 'Accounts', description: 'Register, sign in, look up other accounts, and manage your own.' }],
  events: accountEvents,
  settings: defineSettings({
    variables: {
      SANDBOX_AUTO_VERIFY: z
        .enum(['true', 'false'], { error: 'must be true or false' })
        .default('true')
        .transform((text) => text === 'true'),
      KEY_IDLE_DAYS: wholeNumber(0, 3_650, 90),
    },
    harmless: ['SANDBOX_AUTO_VERIFY', 'KEY_IDLE_DAYS'],
    docs: {
      room: 'Accounts',
      rows: {
        KEY_IDLE_DAYS: {
          usual: '`90`',
          does: 'An API key that was not used for this many days is refused. 0 is never.',
          change: 'To follow your own policy. Live mode takes 1 to 365.',
        },
        SANDBOX_AUTO_VERIFY: {
          usual: '`true`',
          does: 'Counts emails and phone numbers in the sandbox as verified at once. With `false` the codes are needed, and `GET /api/sandbox/messages` shows them.',
          change: 'To try verification. Live mode refuses it.',
        },
      },
    },
    read: (env, mode) => ({
      autoVerify: mode === 'sandbox' && env.SANDBOX_AUTO_VERIFY,
      idleMs: env.KEY_IDLE_DAYS === 0 ? Number.POSITIVE_INFINITY : env.KEY_IDLE_DAYS * dayMs,
      ...accountLimits(mode),
    }),
    refuseLive: (env, given) => [
      ...(given['SANDBOX_AUTO_VERIFY'] === undefined
        ? []
        : ['SANDBOX_AUTO_VERIFY is unsafe: it belongs to the sandbox']),
      ...(env.KEY_IDLE_DAYS >= 1 && env.KEY_IDLE_DAYS <= 365
        ? []
        : ['KEY_IDLE_DAYS is unsafe: an unused key must end within a year; set 1 to 365']),
    ],
  }),
  sealed: [
    { purpose: 'totp-secrets', columns: [{ table: 'totp_secrets', key: ['account_id'], column: 'sealed' }] },
    { purpose: 'sign-ins', columns: [] },
  ],
  commands(program, tools) {
    const account = addAccountCommands(program, tools);
    addKeyCommands(account, { ...tools, onKeysEnded: tools.gatherHook(keysEnded) });
    addGiveKeyCommand(account, tools);
    addResetCommand(account, tools);
    addRemoveFactorCommand(account, tools);
  },
  routes(serving, settings) {
    const { provider, accountChanges, gatherHook } = serving;
    return accountRoutes({
      ...serving,
      ...settings,
      changes: accountChanges,
      wallets: provider,
      noteFailure: createFailureRecorder(serving),
      verification: createVerification({ ...serving, ...settings }),
      onKeysEnded: gatherHook(keysEnded),
      onKeyRotated: gatherHook(keyRotated),
      beforeAccountClosing: gatherHook(beforeAccountClosing),
      onAccountClosing: gatherHook(accountClosing),
      underWayOf: gatherHook(underWay),
    });
  },
  pages: (app, parts) =>
    addOAuthEndpoints(app, {
      ...parts,
      changes: parts.accountChanges,
      onKeysEnded: parts.gatherHook(keysEnded),
    }),
  jobs: (working, settings) => [
    mailResetHandler({ ...working, ...settings }),
    endUntakenGrantHandler({ ...working, ...settings, onKeysEnded: working.gatherHook(keysEnded) }),
  ],
};
