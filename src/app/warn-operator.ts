import type { Queryable } from '../kernel/db/database.ts';
import type { Logger } from '../kernel/log/logger.ts';
import type { Config } from './config.ts';

/** Logs every setting that the operator should look at, although the service starts with it. */
export async function warnOperator(db: Queryable, { mode, warnings }: Config, logger: Logger): Promise<void> {
  for (const sentence of warnings) logger.warn(sentence);
  if (mode !== 'live') return;
  const { rows } = await db.query<{ isSuperuser: boolean }>(
    'SELECT rolsuper AS is_superuser FROM pg_roles WHERE rolname = current_user',
  );
  if (rows[0]?.isSuperuser)
    logger.warn(
      'DATABASE_URL names a superuser: an attacker who takes over the service could do anything to the database',
    );
}
