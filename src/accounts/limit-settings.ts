import type { Mode } from '../kernel/settings.ts';
import type { CodeLimits } from './code-limits.ts';
import type { ResetLimits } from './passwords/reset-limits.ts';

export interface AccountLimits {
  readonly codeLimits: CodeLimits;
  readonly resetLimits: ResetLimits;
  /** The wait after wrong passwords from one network for one account grows up to this. */
  readonly longestDelayMs: number;
  /** New accounts on a day (UTC) from one address network; 0 is without a limit. */
  readonly registrationsPerNetwork: number;
}

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
