import { forgetCountsSchedule } from '../daily-caps/take-today.ts';
import type { Database } from '../db/database.ts';
import type { Feature } from '../feature.ts';

/** The service about itself. Its one operation describes all others, so the composition root adds it last. */
export const service: Feature<{ working: { readonly db: Database } }> = {
  name: 'service',
  chapters: [{ name: 'Service', description: 'The service about itself.' }],
  schedules: ({ db }) => [forgetCountsSchedule(db)],
};
