import { runMigrations } from 'graphile-worker';
import pg from 'pg';
import { type ConnectionOptions, connectionSettings } from './connection-settings.ts';
import { addFixedRows, type FixedRows } from './fixed-rows.ts';
import { letOthersPast } from './let-others-past.ts';
import { holdMigrationLock, type MigrationPatience, usualPatience } from './migration-lock.ts';
import { type Migration, readMigrations } from './read-migrations.ts';
import { readSchema } from './schema-version.ts';
import { watchBlockers } from './watch-blockers.ts';
import { inTransaction, withClient } from './with-client.ts';

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
    await letOthersPast(patience, fixed, () => addFixedRows(client, options.fixedRows ?? []));
    const jobs = { what: 'The update of the job schema', whom: () => 'a session that uses it' };
    await letOthersPast(patience, jobs, () => migrateJobs(url, patience));
    return { applied, isNewer };
  });
}

/**
 * Statements of a migration have no timeout, but an idle transaction still does, so a stalled migration blocks nobody.
 */
function migrating(url: string, { lockMs }: MigrationPatience): ConnectionOptions {
  return { url, applicationName: 'paywright-migrate', limits: { statementMs: 0, lockMs } };
}

/** Creates graphile-worker's tables. Its own pool would release connections before they are closed. */
async function migrateJobs(url: string, patience: MigrationPatience): Promise<void> {
  const pool = new pg.Pool({ ...connectionSettings(migrating(url, patience)), max: 2 });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
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
    await letOthersPast(patience, { what: 'The creation of the migration list', whom }, () => prepareList(client));
    for (const migration of pending) {
      await letOthersPast(patience, { what: `Migration ${migration.name}`, whom }, () => apply(client, migration));
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
