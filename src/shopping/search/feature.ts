import { z } from 'zod';
import type { Database } from '../../kernel/db/database.ts';
import type { Feature } from '../../kernel/feature.ts';
import { defineJob, handleJob } from '../../kernel/jobs/define-job.ts';
import { addProfilePages, type ProfileParts } from './agent.ts';
import type { Shopping } from './open-shopping.ts';
import { forgetPreviews } from './preview.ts';
import { shoppingRoutes } from './routes.ts';
import type { SearchParts } from './search-shop.ts';

const forgetJob = defineJob({ name: 'forget-shopping-previews', payload: z.unknown(), maxAttempts: 1 });

export const shopping: Feature<{
  serving: Omit<SearchParts, 'merchants'> & { readonly shops: Pick<Shopping, 'merchants'> };
  pages: ProfileParts;
  working: { readonly db: Database };
}> = {
  name: 'shopping',
  sealed: [{ purpose: 'agent-keys', columns: [{ table: 'agent_keys', key: ['name'], column: 'sealed' }] }],
  chapters: [{ name: 'Shopping', description: 'Find products at any shop on the web.' }],
  routes: ({ db, outgoing, shops: { merchants }, publicUrl }) => shoppingRoutes({ db, outgoing, merchants, publicUrl }),
  pages: (app, { publicUrl, agentKey }) => addProfilePages(app, { publicUrl, agentKey }),
  schedules: ({ db }) => [{ at: '41 * * * *', handler: handleJob(forgetJob, () => forgetPreviews(db)) }],
};
