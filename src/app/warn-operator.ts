import type { Queryable } from '../kernel/db/database.ts';
import type { Logger } from '../kernel/log/logger.ts';
import type { Config } from './config.ts';

/** What live mode starts with, and an operator should look at. */
export async function warnOperator(db: Queryable, { mode, warnings }: Config, logger: Logger): Promise<void> {
  if (mode !== 'live') return;
  const { rows } = await db.query<{ is_superuser: boolean }>(
    'SELECT rolsuper AS is_superuser FROM pg_roles WHERE rolname = current_user',
  );
  const role = rows[0]?.is_superuser
    ? ['DATABASE_URL names a superuser: whoever takes over the service could do anything to the database']
    : [];
  for (const sentence of [...warnings, ...role]) logger.warn(sentence);
}
