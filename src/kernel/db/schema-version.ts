import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import type pg from 'pg';
import { Refusal } from '../refusal.ts';
import { tableExists } from './connection-settings.ts';

const folder = new URL('../../migrations/', import.meta.url);

export interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
  /** The newest migration that a release must know to run on this schema. Defaults to its own version. */
  readonly servesFrom: number;
}

export async function readMigrations(): Promise<readonly Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name, index) => {
      const version = Number(name.slice(0, 3));
      if (version !== index + 1) throw new Error(`migrations must be numbered without gaps: ${name}`);
      return asMigration({ version, name, sql: await readFile(new URL(name, folder), 'utf8') });
    }),
  );
}

/**
 * A migration that older releases can run with, because it only adds what they do not read, declares it with a line
 * such as `-- serves_from: 22`. That line is part of the checksum and never changes.
 */
export function asMigration({ version, name, sql }: Pick<Migration, 'version' | 'name' | 'sql'>): Migration {
  const said = /^-- serves_from: (\d+)$/m.exec(sql)?.[1];
  const servesFrom = said === undefined ? version : Number(said);
  if (servesFrom > version)
    throw new Error(`${name} declares serves_from ${servesFrom}, which is later than its own version`);
  return { version, name, sql, checksum: createHash('sha256').update(sql).digest('hex'), servesFrom };
}

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
  return compareSchema(await readApplied(client), known);
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

export function compareSchema(applied: readonly AppliedMigration[], known: readonly Migration[]): Schema {
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
