import { z } from 'zod';
import type { Feature } from '../feature.ts';
import { defineSettings } from '../settings.ts';
import { addAccountCommands } from './commands.ts';
import { createPasswords } from './passwords.ts';
import { createRegister } from './register.ts';
import { accountRoutes } from './routes.ts';
import { createSignInThrottle } from './sign-in-throttle.ts';
import { createVerification } from './verification.ts';

interface AccountSettings {
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
    },
    harmless: ['SANDBOX_AUTO_VERIFY'],
    readme: ['| `SANDBOX_AUTO_VERIFY` | `true` | `false`: codes are needed, and are at `GET /api/sandbox/messages` |'],
    read: ({ SANDBOX_AUTO_VERIFY }, mode) => ({ autoVerify: mode === 'sandbox' && SANDBOX_AUTO_VERIFY }),
    refuseLive: (_env, given) =>
      given['SANDBOX_AUTO_VERIFY'] === undefined ? [] : ['SANDBOX_AUTO_VERIFY is unsafe: it belongs to the sandbox'],
  }),
  commands: (program, tools) => addAccountCommands(program, tools),
  routes({ db, once, secrets, limiter, rateLimits, provider, accountChanges }, { autoVerify }) {
    const verification = createVerification({ db, secrets, limiter, automatic: autoVerify });
    const register = createRegister({
      db,
      secrets,
      passwords: createPasswords(),
      throttle: createSignInThrottle(limiter, rateLimits),
      verification,
      wallets: provider,
    });
    return accountRoutes({ db, once, secrets, register, changes: accountChanges, verification, rateLimits });
  },
};
