import { openDatabase } from '../db/database.ts';
import { migrate } from '../db/migrate.ts';
import type { Logger } from '../logger.ts';
import { declareSagas } from '../sagas/declare-sagas.ts';
import { type ListedFeature, sagasOf } from './listed-feature.ts';

/** Brings the database to what this release needs: its schema, and what its sagas may do. */
export async function prepareDatabase(
  url: string,
  { features, logger }: { readonly features: readonly ListedFeature[]; readonly logger: Logger },
): Promise<{ readonly applied: readonly string[] }> {
  const { applied } = await migrate(url);
  const db = openDatabase({ url, poolSize: 1, logger });
  try {
    await declareSagas(db, sagasOf(features));
  } finally {
    await db.close();
  }
  return { applied };
}
