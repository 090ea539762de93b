import { z } from 'zod';
import type { Feature } from '../feature.ts';
import { defineSettings, wholeNumber } from '../settings.ts';
import { addAccountCommands } from './commands.ts';
import { addKeyCommands } from './key-commands.ts';
import type { KeyIdleness } from './key-lifetime.ts';
import { createPasswords } from './passwords.ts';
import { createRegister } from './register.ts';
import { accountRoutes } from './routes.ts';
import { createSignInThrottle } from './sign-in-throttle.ts';
import { createVerification } from './verification.ts';

const dayMs = 24 * 60 * 60_000;

interface AccountSettings extends KeyIdleness {
  /** Emails and phone numbers count as verified at once. Only ever true in the sandbox. */
  readonly autoVerify: boolean;
}

export const accounts: Feature<AccountSettings> = {
  name: 'accounts',
  chapters: [{ name: 'Accounts', description: 'Register, sign in, look others up, and look after your own account.' }],
  settings: defineSettings({
    variables: {
      SANDBOX_AUTO_VERIFY: z
        .enum(['true', 'false'], { error: 'must be true or false' })
        .default('true')
        .transform((text) => text === 'true'),
      KEY_IDLE_DAYS: wholeNumber(0, 3_650, 90),
    },
    harmless: ['SANDBOX_AUTO_VERIFY', 'KEY_IDLE_DAYS'],
    readme: [
      '| `SANDBOX_AUTO_VERIFY` | `true` | `false`: codes are needed, and are at `GET /api/sandbox/messages` |',
      '| `KEY_IDLE_DAYS` | `90` | API keys that nobody has used for so many days are refused; 0 is never. Live takes 1 to 365 |',
    ],
    read: ({ SANDBOX_AUTO_VERIFY, KEY_IDLE_DAYS }, mode) => ({
      autoVerify: mode === 'sandbox' && SANDBOX_AUTO_VERIFY,
      idleMs: KEY_IDLE_DAYS === 0 ? Number.POSITIVE_INFINITY : KEY_IDLE_DAYS * dayMs,
    }),
    refuseLive: ({ KEY_IDLE_DAYS }, given) => [
      ...(given['SANDBOX_AUTO_VERIFY'] === undefined
        ? []
        : ['SANDBOX_AUTO_VERIFY is unsafe: it belongs to the sandbox']),
      ...(KEY_IDLE_DAYS >= 1 && KEY_IDLE_DAYS <= 365
        ? []
        : ['KEY_IDLE_DAYS is unsafe: keys that everybody has forgotten must end within a year']),
    ],
  }),
  commands: (program, tools) => addKeyCommands(addAccountCommands(program, tools), tools),
  routes(parts, { autoVerify, idleMs }) {
    const { db, once, secrets, limiter, rateLimits, provider, accountChanges, clock, onKeysEnded } = parts;
    const verification = createVerification({ db, secrets, limiter, automatic: autoVerify });
    const register = createRegister({
      db,
      secrets,
      passwords: createPasswords(),
      throttle: createSignInThrottle(limiter, rateLimits),
      verification,
      wallets: provider,
      idleMs,
    });
    return accountRoutes({
      db,
      once,
      register,
      changes: accountChanges,
      verification,
      rateLimits,
      secrets,
      clock,
      idleMs,
      onKeysEnded,
    });
  },
};
