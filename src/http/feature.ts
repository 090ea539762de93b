import type { Feature } from '../feature.ts';
import { expireIdempotencyKeys } from './expire-idempotency-keys.ts';

/** What the interface is about itself. Its one operation describes all others, so it is added when they are all there. */
export const service: Feature = {
  name: 'service',
  chapters: [{ name: 'Service', description: 'The service about itself.' }],
  schedules: ({ db }) => [expireIdempotencyKeys(db)],
};
