import type { Database } from '../kernel/db/database.ts';
import type { Feature } from '../kernel/feature.ts';
import { expireIdempotencyKeys } from './expire-idempotency-keys.ts';

export const ledger: Feature<{ working: { readonly db: Database } }> = {
  name: 'ledger',
  schedules: ({ db }) => [expireIdempotencyKeys(db)],
};
