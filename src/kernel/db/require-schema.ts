import { Refusal } from '../refusal.ts';
import { type FixedRows, requireFixedRows } from './fixed-rows.ts';
import { readMigrations } from './read-migrations.ts';
import { readSchema } from './schema-version.ts';
import { withClient } from './with-client.ts';

const applicationName = 'paywright-schema';

/** Whether this role may change the schema. It counts as allowed on a database without our tables. */
export async function mayMigrate(url: string): Promise<boolean> {
  return withClient({ url, applicationName }, async (client) => {
    const { rows } = await client.query<{ owns: boolean }>(
      "SELECT pg_has_role(relowner, 'USAGE') AS owns FROM pg_class WHERE oid = to_regclass('schema_migrations')",
    );
    return rows[0]?.owns ?? true;
  });
}

/** For a role that may only use the tables. The owner must have migrated them to what this release needs. */
export async function requireSchema(
  url: string,
  fixedRows: readonly FixedRows[],
): Promise<{ readonly isNewer: boolean }> {
  return withClient({ url, applicationName }, async (client) => {
    const { pending, isNewer } = await readSchema(client, await readMigrations());
    if (pending.length > 0) {
      throw new Refusal(
        `The database lacks ${pending.map(({ name }) => name).join(', ')}, and the role in DATABASE_URL may not apply them: run "paywright migrate" with MIGRATION_DATABASE_URL first.`,
      );
    }
    await requireFixedRows(client, fixedRows);
    return { isNewer };
  });
}
