import type { Database } from '../db/database.ts';
import type { Feature } from '../feature.ts';
import { expireIdempotencyKeys } from './expire-idempotency-keys.ts';

export const ledger: Feature<{ working: { readonly db: Database } }> = {
  name: 'ledger',
  schedules: ({ db }) => [expireIdempotencyKeys(db)],
};
