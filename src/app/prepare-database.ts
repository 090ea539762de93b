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

/** Brings the database to what this release needs: its schema, and what its sagas may do. Who may not only looks whether it is there. */
export async function prepareDatabase(
  url: string,
  { features, logger, patience }: PrepareOptions,
): Promise<{ readonly applied: readonly string[] }> {
  const { applied, isNewer } = (await mayMigrate(url))
    ? await migrate(url, { ...patience, fixedRows: catalogueRows })
    : { applied: [], ...(await requireSchema(url, catalogueRows)) };
  // What a newer release lets its sagas do is not ours to take back.
  if (isNewer) return { applied };
  const db = openDatabase({ url, poolSize: 1, logger });
  try {
    await declareSagas(db, sagasOf(features));
  } finally {
    await db.close();
  }
  return { applied };
}
