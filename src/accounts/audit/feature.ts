import type { Database } from '../../kernel/db/database.ts';
import type { Feature } from '../../kernel/feature.ts';
import { addAuditCommand } from './commands.ts';
import { auditRoutes } from './routes.ts';

export const audit: Feature<{ serving: { readonly db: Database } }> = {
  name: 'audit',
  commands: (program, tools) => addAuditCommand(program, tools),
  routes: ({ db }) => auditRoutes(db),
};
