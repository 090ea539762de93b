import type { Clock } from '../kernel/clock.ts';
import type { RateLimits } from '../kernel/rate-limit/rate-limits.ts';
import type { Saga } from '../kernel/sagas/define-saga.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import type { RunOnce } from '../ledger/idempotency.ts';
import type { Ledger } from '../ledger/ledger.ts';
import type { AccountChanges } from './account-changes.ts';
import type { OnAccountClosing, UnderWayOf } from './closing/on-account-closing.ts';
import type { WalletSource } from './insert-account.ts';
import type { KeyIdleness } from './keys/key-lifetime.ts';
import type { OnKeyRotated, OnKeysEnded } from './keys/on-keys-ended.ts';
import type { Passwords } from './passwords/passwords.ts';
import type { PasswordGuard } from './passwords/require-password.ts';
import type { FactorParts } from './second-factor/require-second-factor.ts';
import type { CodeLimitParts, Verification } from './verification.ts';

/** Bounds what strangers can make the service send, and how fast they can guess passwords. */
export interface AccountLimits extends Pick<CodeLimitParts, 'codeLimits'> {
  readonly resetLimits: ResetLimits;
  /** The wait after wrong passwords from one network for one account grows up to this. */
  readonly longestDelayMs: number;
  /** New accounts on a day (UTC) from one network; 0 is without a limit. */
  readonly registrationsPerNetwork: number;
}

/** Limits on mailed reset tokens. 0 is unlimited, except for `perMailbox`. */
interface ResetLimits {
  /** Requests per day (UTC) from one network, whether the email has an account or not. */
  readonly perNetwork: number;
  /** Per hour to one mailbox; beyond that, one every 15 minutes. */
  readonly perMailbox: number;
  /** Per day, to all mailboxes. */
  readonly inAll: number;
}

export interface AccountSettings extends AccountLimits, KeyIdleness {
  /** Emails and phone numbers count as verified at once. Only in the sandbox. */
  readonly autoVerify: boolean;
}

/** What the requests of accounts share. */
export interface AccountParts extends AccountSettings, CodeLimitParts, PasswordGuard, FactorParts {
  readonly once: RunOnce;
  readonly secrets: Secrets;
  readonly ledger: Ledger;
  readonly rateLimits: RateLimits;
  readonly clock: Clock;
  readonly changes: AccountChanges;
  readonly verification: Verification;
  readonly passwords: Passwords;
  readonly wallets: WalletSource;
  readonly sagas: readonly Saga[];
  readonly publicUrl: () => string;
  readonly onKeysEnded: OnKeysEnded;
  readonly onKeyRotated: OnKeyRotated;
  readonly beforeAccountClosing: OnAccountClosing;
  readonly onAccountClosing: OnAccountClosing;
  readonly underWayOf: UnderWayOf;
}
