import type { z } from 'zod';
import { type Mode, notGiven, orUsual, wholeNumber } from '../kernel/settings.ts';
import type { CodeLimits } from './code-limits.ts';
import type { ResetLimits } from './passwords/reset-limits.ts';

const perDay = (fallback: number) => wholeNumber(0, 1_000_000_000, fallback);

/** How much strangers can make us send, and how long guesses at a password wait. */
export const limitVariables = {
  SIGN_IN_LONGEST_DELAY_SECONDS: wholeNumber(1, 30, 6),
  REGISTRATIONS_PER_DAY_PER_NETWORK: perDay(notGiven),
  SMS_PER_DAY: perDay(1_000),
  SMS_PER_DAY_PER_COUNTRY: perDay(200),
  SMS_PER_DAY_PER_NUMBER: perDay(5),
  SMS_PER_DAY_PER_NETWORK: perDay(10),
  MAILS_PER_DAY: perDay(20_000),
  MAILS_PER_DAY_PER_MAILBOX: perDay(10),
  MAILS_PER_DAY_PER_NETWORK: perDay(100),
  PASSWORD_RESETS_PER_DAY: perDay(5_000),
  PASSWORD_RESETS_PER_DAY_PER_NETWORK: perDay(20),
  PASSWORD_RESETS_PER_HOUR_PER_MAILBOX: wholeNumber(1, 1_000, 3),
} as const satisfies z.ZodRawShape;

type Limits = z.output<z.ZodObject<typeof limitVariables>>;

export const limitNames = Object.keys(limitVariables) as (keyof Limits)[];

export const limitReadme = [
  '| `SIGN_IN_LONGEST_DELAY_SECONDS` | `6` | to what the wait grows after wrong passwords from one network for one account; the right one is always taken |',
  '| `REGISTRATIONS_PER_DAY_PER_NETWORK` | live `200`, sandbox none | new accounts on a day (UTC) from one address network; four times as many per /48 of IPv6. What an enterprise key registers does not count |',
  '| `SMS_PER_DAY`, `SMS_PER_DAY_PER_COUNTRY`, `SMS_PER_DAY_PER_NUMBER`, `SMS_PER_DAY_PER_NETWORK` | `1000`, `200`, `5`, `10` | codes by SMS on a day (UTC): in all, to one country, to one number, asked for from one address network. The log warns when the first two are used up. `0` is no limit, in the sandbox only |',
  '| `MAILS_PER_DAY`, `MAILS_PER_DAY_PER_MAILBOX`, `MAILS_PER_DAY_PER_NETWORK` | `20000`, `10`, `100` | codes by mail, likewise. Registration works beyond them; its code is sent when it is asked for again |',
  '| `PASSWORD_RESETS_PER_DAY`, `PASSWORD_RESETS_PER_DAY_PER_NETWORK` | `5000`, `20` | tokens for new passwords, likewise |',
  '| `PASSWORD_RESETS_PER_HOUR_PER_MAILBOX` | `3` | how many of them one mailbox is sent in an hour; beyond it one every 15 minutes |',
];

export interface AccountLimits {
  readonly codeLimits: CodeLimits;
  readonly resetLimits: ResetLimits;
  readonly longestDelayMs: number;
  /** New accounts on a day from one address network; 0 is without a limit. */
  readonly registrationsPerNetwork: number;
}

export function readLimits(env: Limits, mode: Mode): AccountLimits {
  return {
    registrationsPerNetwork: orUsual(env.REGISTRATIONS_PER_DAY_PER_NETWORK, mode === 'live' ? 200 : 0),
    codeLimits: {
      sms: {
        inAll: env.SMS_PER_DAY,
        perCountry: env.SMS_PER_DAY_PER_COUNTRY,
        perTarget: env.SMS_PER_DAY_PER_NUMBER,
        perNetwork: env.SMS_PER_DAY_PER_NETWORK,
      },
      mails: {
        inAll: env.MAILS_PER_DAY,
        perCountry: 0,
        perTarget: env.MAILS_PER_DAY_PER_MAILBOX,
        perNetwork: env.MAILS_PER_DAY_PER_NETWORK,
      },
    },
    resetLimits: {
      inAll: env.PASSWORD_RESETS_PER_DAY,
      perNetwork: env.PASSWORD_RESETS_PER_DAY_PER_NETWORK,
      perMailbox: env.PASSWORD_RESETS_PER_HOUR_PER_MAILBOX,
    },
    longestDelayMs: env.SIGN_IN_LONGEST_DELAY_SECONDS * 1_000,
  };
}

export function unsafeLimits(env: Limits): string[] {
  return limitNames.flatMap((name) => (env[name] === 0 ? [`${name} is unsafe: 0 would be no limit at all`] : []));
}
