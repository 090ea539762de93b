import type { ReadDatabase } from '../../kernel/db/database.ts';
import type { Feature } from '../../kernel/feature.ts';
import { addAuditCommand } from './commands.ts';
import { auditRoutes } from './routes.ts';

export const audit: Feature<{ serving: { readonly readDb: ReadDatabase } }> = {
  name: 'audit',
  commands: (program, tools) => addAuditCommand(program, tools),
  routes: ({ readDb }) => auditRoutes(readDb),
};
