import type { Clock } from '../kernel/clock.ts';
import type { Database } from '../kernel/db/database.ts';
import type { RateLimits } from '../kernel/rate-limit/rate-limits.ts';
import type { Secrets } from '../kernel/secrets/secrets.ts';
import type { RunOnce } from '../ledger/idempotency.ts';
import type { AccountChanges } from './account-changes.ts';
import type { Closed, Closing } from './closing/close-account.ts';
import type { EmailAsked, EmailConfirmation, EmailWish } from './emails/change-email.ts';
import type { OnKeyRotated, OnKeysEnded } from './keys/on-keys-ended.ts';
import type { PasswordChange, PasswordSet } from './passwords/change-password.ts';
import type { ResetConfirmation, ResetConfirmed } from './passwords/confirm-reset.ts';
import type { Registered, Registration } from './register.ts';
import type { Verification } from './verification.ts';

export interface AccountParts {
  readonly db: Database;
  readonly once: RunOnce;
  readonly secrets: Secrets;
  readonly register: (registration: Registration) => Promise<Registered>;
  readonly changes: AccountChanges;
  readonly verification: Verification;
  readonly rateLimits: RateLimits;
  readonly changePassword: (change: PasswordChange) => Promise<PasswordSet>;
  readonly askReset: (asked: { readonly email: string; readonly ip: string }) => Promise<void>;
  readonly confirmReset: (confirmation: ResetConfirmation) => Promise<ResetConfirmed>;
  readonly askEmailChange: (wish: EmailWish) => Promise<EmailAsked>;
  readonly confirmEmailChange: (confirmation: EmailConfirmation) => Promise<void>;
  readonly closeAccount: (closing: Closing) => Promise<Closed>;
  readonly clock: Clock;
  /** How long an unused key lives. */
  readonly idleMs: number;
  readonly onKeysEnded: OnKeysEnded;
  readonly onKeyRotated: OnKeyRotated;
}
