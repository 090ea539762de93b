import type pg from 'pg';
import { Refusal } from '../refusal.ts';
import type { Migration } from './read-migrations.ts';

interface AppliedMigration {
  readonly version: number;
  readonly checksum: string;
  readonly servesFrom: number;
}

/** How the schema of a database stands to this release. */
export interface Schema {
  /** What it does not have yet. */
  readonly pending: readonly Migration[];
  /** Whether a newer release has been here, and left a schema that this one can serve with. */
  readonly isNewer: boolean;
}

/** The database was made by migrations that this release does not have: no migration leads from there to here. */
export class ForeignSchema extends Refusal {}

type Session = Pick<pg.ClientBase, 'query'>;

/** Throws when this release cannot serve with it, whatever is applied. */
export async function readSchema(client: Session, known: readonly Migration[]): Promise<Schema> {
  return judgeSchema(await readApplied(client), known);
}

async function readApplied(client: Session): Promise<readonly AppliedMigration[]> {
  const { rows } = await client.query<{ exists: boolean }>(
    "SELECT to_regclass('schema_migrations') IS NOT NULL AS exists",
  );
  if (rows[0]?.exists !== true) return [];
  // As JSON, because the list of an early checkout has no such column, and its database is to be judged, too.
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
      throw new ForeignSchema(`Migration ${migration.name} is not the one this database was built with.`);
    }
    if (migration === undefined && servesFrom > newest) {
      throw new Refusal(`The database has migration ${version}, which this release does not know: it is newer.`);
    }
    isNewer ||= migration === undefined;
  }
  const there = new Set(applied.map(({ version }) => version));
  return { pending: known.filter(({ version }) => !there.has(version)), isNewer };
}
