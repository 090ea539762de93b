import type { RateLimitConfig } from '../config.ts';
import type { Database } from '../db/database.ts';
import type { Once } from '../http/idempotency.ts';
import type { Secrets } from '../secrets.ts';
import type { AccountChanges } from './account-changes.ts';
import type { Registered, Registration } from './register.ts';
import type { Verification } from './verification.ts';

/** What the account routes are made of. */
export interface AccountParts {
  readonly db: Database;
  readonly once: Once;
  readonly secrets: Secrets;
  readonly register: (registration: Registration) => Promise<Registered>;
  readonly changes: AccountChanges;
  readonly verification: Verification;
  readonly rateLimits: RateLimitConfig;
}
