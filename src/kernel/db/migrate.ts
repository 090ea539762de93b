import { runMigrations } from 'graphile-worker';
import type pg from 'pg';
import { Refusal } from '../refusal.ts';
import { type ConnectionOptions, connectionSettings, inTransaction, withClient } from './connection-settings.ts';
import { addFixedRows, type FixedRows, requireFixedRows } from './fixed-rows.ts';
import {
  holdMigrationLock,
  type MigrationPatience,
  retryLockTimeouts,
  usualPatience,
  watchBlockers,
} from './migration-lock.ts';
import { openPool } from './pool.ts';
import { type Migration, readMigrations, readSchema } from './schema-version.ts';

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

export interface MigrateOptions extends Partial<MigrationPatience> {
  /** Tests pass their own; otherwise the release's migrations apply. */
  readonly migrations?: readonly Migration[];
  /** Rows that the code and the database must agree on. They are added after the migrations. */
  readonly fixedRows?: readonly FixedRows[];
}

export interface Migrated {
  readonly applied: readonly string[];
  /** Whether the schema comes from a newer release that this one is compatible with. */
  readonly isNewer: boolean;
}

/**
 * Brings the database to this release's schema. Migrations are numbered and forward-only. Each runs in its own
 * transaction, and instances that start together wait for one another.
 */
export async function migrate(url: string, options: MigrateOptions = {}): Promise<Migrated> {
  const patience = { ...usualPatience, ...options };
  return withClient(migrating(url, patience), async (client) => {
    const known = options.migrations ?? (await readMigrations());
    const { pending, isNewer } = await readSchema(client, known);
    const applied = pending.length === 0 ? [] : await applyPending(client, { url, patience, known });
    const fixed = { what: 'The check of the fixed rows', whom: () => 'a session that has locked the table' };
    await retryLockTimeouts(patience, fixed, () => addFixedRows(client, options.fixedRows ?? []));
    const jobs = { what: 'The update of the job schema', whom: () => 'a session that uses it' };
    await retryLockTimeouts(patience, jobs, () => migrateJobs(url, patience));
    return { applied, isNewer };
  });
}

/**
 * Statements of a migration have no timeout, but an idle transaction still does, so a stalled migration does not block others.
 */
function migrating(url: string, { lockMs }: MigrationPatience): ConnectionOptions {
  return { url, applicationName: 'paywright-migrate', limits: { statementMs: 0, lockMs } };
}

/** Creates graphile-worker's tables. Its own pool would release connections before they are closed. */
async function migrateJobs(url: string, patience: MigrationPatience): Promise<void> {
  const pool = openPool({ ...connectionSettings(migrating(url, patience)), max: 2 });
  try {
    await runMigrations({ pgPool: pool });
  } finally {
    await pool.end();
  }
}

interface Applying {
  readonly url: string;
  readonly patience: MigrationPatience;
  readonly known: readonly Migration[];
}

async function applyPending(client: pg.Client, { url, patience, known }: Applying): Promise<readonly string[]> {
  await holdMigrationLock(client, patience);
  const { pending } = await readSchema(client, known);
  const { rows } = await client.query<{ pid: number }>('SELECT pg_backend_pid() AS pid');
  const blockers = await watchBlockers(url, rows[0]?.pid ?? 0);
  const whom = () => blockers.last();
  try {
    await retryLockTimeouts(patience, { what: 'The creation of the migration list', whom }, () => prepareList(client));
    for (const migration of pending) {
      await retryLockTimeouts(patience, { what: `Migration ${migration.name}`, whom }, () => apply(client, migration));
    }
    return pending.map(({ name }) => name);
  } finally {
    await blockers.stop();
  }
}

async function prepareList(client: pg.Client): Promise<void> {
  await client.query(`
    CREATE TABLE IF NOT EXISTS schema_migrations (
      version     integer PRIMARY KEY,
      name        text NOT NULL,
      checksum    text NOT NULL,
      -- The newest migration that a release must know to run on this schema.
      serves_from integer NOT NULL,
      applied_at  timestamptz NOT NULL DEFAULT now()
    )`);
}

async function apply(client: pg.Client, { version, name, sql, checksum, servesFrom }: Migration): Promise<void> {
  await inTransaction(client, async () => {
    await client.query(sql);
    await client.query('INSERT INTO schema_migrations (version, name, checksum, serves_from) VALUES ($1, $2, $3, $4)', [
      version,
      name,
      checksum,
      servesFrom,
    ]);
  });
}
