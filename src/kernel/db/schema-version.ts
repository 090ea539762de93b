import type pg from 'pg';
import { Refusal } from '../refusal.ts';
import type { Migration } from './read-migrations.ts';
import { tableExists } from './with-client.ts';

interface AppliedMigration {
  readonly version: number;
  readonly checksum: string;
  readonly servesFrom: number;
}

export interface Schema {
  /** Migrations that are not applied yet. */
  readonly pending: readonly Migration[];
  /** Whether a newer release has migrated it to a schema that this release can still run on. */
  readonly isNewer: boolean;
}

/** The database was created by migrations that this release does not have, so no upgrade path exists. */
export class ForeignSchema extends Refusal {}

type Session = Pick<pg.ClientBase, 'query'>;

/** Throws when this release cannot run on the schema. */
export async function readSchema(client: Session, known: readonly Migration[]): Promise<Schema> {
  return judgeSchema(await readApplied(client), known);
}

async function readApplied(client: Session): Promise<readonly AppliedMigration[]> {
  if (!(await tableExists(client, 'schema_migrations'))) return [];
  // Read as JSON, because a database of an early version has no serves_from column.
  const applied = await client.query<AppliedMigration>(
    `SELECT version, checksum, coalesce((to_jsonb(list) ->> 'serves_from')::integer, version) AS "servesFrom"
       FROM schema_migrations list ORDER BY version`,
  );
  return applied.rows;
}

export function judgeSchema(applied: readonly AppliedMigration[], known: readonly Migration[]): Schema {
  const newest = known.at(-1)?.version ?? 0;
  let isNewer = false;
  for (const { version, checksum, servesFrom } of applied) {
    const migration = known.find((each) => each.version === version);
    if (migration !== undefined && migration.checksum !== checksum) {
      throw new ForeignSchema(`Migration ${migration.name} differs from the one that this database was created with.`);
    }
    if (migration === undefined && servesFrom > newest) {
      throw new Refusal(
        `The database has migration ${version} of a newer release, which this release cannot run on: use the newer release.`,
      );
    }
    isNewer ||= migration === undefined;
  }
  const there = new Set(applied.map(({ version }) => version));
  return { pending: known.filter(({ version }) => !there.has(version)), isNewer };
}
