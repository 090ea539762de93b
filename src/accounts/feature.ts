import { z } from 'zod';
import type { Feature } from '../feature.ts';
import { defineSettings } from '../settings.ts';
import { askReset } from './ask-reset.ts';
import { changePassword } from './change-password.ts';
import { addAccountCommands } from './commands.ts';
import { confirmReset } from './confirm-reset.ts';
import {
  type AccountLimits,
  limitNames,
  limitReadme,
  limitVariables,
  readLimits,
  unsafeLimits,
} from './limit-settings.ts';
import { mailResetHandler } from './mail-reset.ts';
import { createNoteFailure } from './note-failure.ts';
import { createPasswords } from './passwords.ts';
import { createRegister } from './register.ts';
import { addResetCommand } from './reset-command.ts';
import { accountRoutes } from './routes.ts';
import { createSignInThrottle } from './sign-in-throttle.ts';
import { createVerification } from './verification.ts';

interface AccountSettings extends AccountLimits {
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
      ...limitVariables,
    },
    harmless: ['SANDBOX_AUTO_VERIFY', ...limitNames],
    readme: [
      '| `SANDBOX_AUTO_VERIFY` | `true` | `false`: codes are needed, and are at `GET /api/sandbox/messages` |',
      ...limitReadme,
    ],
    read: (env, mode) => ({ autoVerify: mode === 'sandbox' && env.SANDBOX_AUTO_VERIFY, ...readLimits(env) }),
    refuseLive: (env, given) => [
      ...(given['SANDBOX_AUTO_VERIFY'] === undefined
        ? []
        : ['SANDBOX_AUTO_VERIFY is unsafe: it belongs to the sandbox']),
      ...unsafeLimits(env),
    ],
  }),
  commands: (program, tools) => addResetCommand(addAccountCommands(program, tools), tools),
  routes(parts, { autoVerify, codeLimits, resetLimits, longestDelayMs }) {
    const { db, once, secrets, limiter, rateLimits, provider, accountChanges: changes, logger, clock } = parts;
    const verification = createVerification({ db, secrets, limiter, logger, codeLimits, automatic: autoVerify });
    const passwords = createPasswords();
    const throttle = createSignInThrottle({ limiter, rateLimits, passwords, longestDelayMs, clock });
    const noteFailure = createNoteFailure({ db, limiter });
    const signIn = { db, secrets, passwords, throttle, noteFailure };
    return accountRoutes({
      db,
      once,
      changes,
      verification,
      rateLimits,
      register: createRegister({ ...signIn, verification, wallets: provider }),
      changePassword: (change) => changePassword({ ...signIn, changes }, change),
      askReset: (asked) => askReset({ db, logger, resetLimits }, asked),
      confirmReset: (confirmation) =>
        confirmReset({ db, secrets, passwords, changes, wallets: provider }, confirmation),
    });
  },
  jobs: ({ db, secrets, logger, publicUrl }, { resetLimits }) => [
    mailResetHandler({ db, secrets, logger, publicUrl, resetLimits }),
  ],
};
