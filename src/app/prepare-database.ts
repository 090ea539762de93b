import { openDatabase } from '../kernel/db/database.ts';
import { type MigrateOptions, migrate } from '../kernel/db/migrate.ts';
import { mayMigrate, requireSchema } from '../kernel/db/require-schema.ts';
import type { Logger } from '../kernel/log/logger.ts';
import { declareSagas } from '../kernel/sagas/declare-sagas.ts';
import { catalogueRows } from './catalogue-rows.ts';
import { type ListedFeature, sagasOf } from './listed-feature.ts';

export interface PrepareOptions {
  readonly features: readonly ListedFeature[];
  readonly logger: Logger;
  readonly patience?: MigrateOptions;
}

/**
 * Brings the database to what this release needs: the schema and the declared sagas. A role that may not migrate only
 * checks it.
 */
export async function prepareDatabase(
  url: string,
  { features, logger, patience }: PrepareOptions,
): Promise<{ readonly applied: readonly string[] }> {
  const { applied, isNewer } = (await mayMigrate(url))
    ? await migrate(url, { ...patience, fixedRows: catalogueRows })
    : { applied: [], ...(await requireSchema(url, catalogueRows)) };
  // An older release must not overwrite the saga declarations of a newer one.
  if (isNewer) return { applied };
  const db = openDatabase({ url, poolSize: 1, logger });
  try {
    await declareSagas(db, sagasOf(features));
  } finally {
    await db.close();
  }
  return { applied };
}
