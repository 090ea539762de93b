import { createHash } from 'node:crypto';
import { readdir, readFile } from 'node:fs/promises';
import { runMigrations } from 'graphile-worker';
import pg from 'pg';
import { Refusal } from '../refusal.ts';
import { connectionSettings, unhurried } from './connection-settings.ts';

/** Any number, as long as every instance takes the same lock. */
export const migrationLock = 4_028_402;

const folder = new URL('./migrations/', import.meta.url);

interface Migration {
  readonly version: number;
  readonly name: string;
  readonly sql: string;
  readonly checksum: string;
}

/**
 * Brings the database to the schema of this release. Migrations are numbered and forward-only; each runs in its own
 * transaction; instances that start together wait for one another.
 */
export async function migrate(url: string): Promise<{ readonly applied: readonly string[] }> {
  const client = new pg.Client(migrationSettings(url));
  // A connection that is lost fails the statement under way; without a listener it would end the process.
  client.on('error', () => {});
  await client.connect();
  try {
    await client.query('SELECT pg_advisory_lock($1)', [migrationLock]);
    const applied = await applyPending(client, await readMigrations());
    await migrateJobs(url);
    return { applied };
  } finally {
    await client.end();
  }
}

/** A statement of a migration takes as long as it takes; but whoever stops in the middle does not hold up everybody. */
function migrationSettings(url: string): pg.ClientConfig {
  return connectionSettings({ url, applicationName: 'paywright-migrate', limits: unhurried });
}

/** graphile-worker's own tables. Its own pool would let go of its connections before they are closed. */
async function migrateJobs(url: string): Promise<void> {
  const pool = new pg.Pool({ ...migrationSettings(url), max: 2 });
  pool.on('error', () => {});
  pool.on('connect', (client) => client.on('error', () => {}));
  try {
    await runMigrations({ pgPool: pool });
  } finally {
    await pool.end();
  }
}

async function applyPending(client: pg.Client, migrations: readonly Migration[]): Promise<string[]> {
  await client.query(`
    CREATE TABLE IF NOT EXISTS schema_migrations (
      version    integer PRIMARY KEY,
      name       text NOT NULL,
      checksum   text NOT NULL,
      applied_at timestamptz NOT NULL DEFAULT now()
    )`);
  const { rows } = await client.query<{ version: number; checksum: string }>(
    'SELECT version, checksum FROM schema_migrations ORDER BY version',
  );
  refuseForeignSchema(rows, migrations);

  const applied: string[] = [];
  for (const migration of migrations.slice(rows.length)) {
    await client.query('BEGIN');
    try {
      await client.query(migration.sql);
      await client.query('INSERT INTO schema_migrations (version, name, checksum) VALUES ($1, $2, $3)', [
        migration.version,
        migration.name,
        migration.checksum,
      ]);
      await client.query('COMMIT');
    } catch (error) {
      await client.query('ROLLBACK');
      throw error;
    }
    applied.push(migration.name);
  }
  return applied;
}

function refuseForeignSchema(
  applied: readonly { version: number; checksum: string }[],
  known: readonly Migration[],
): void {
  for (const [index, row] of applied.entries()) {
    const migration = known[index];
    if (migration === undefined) {
      throw new Refusal(`The database has migration ${row.version}, which this release does not know: it is newer.`);
    }
    if (migration.checksum !== row.checksum) {
      throw new Refusal(`Migration ${migration.name} is not the one this database was built with.`);
    }
  }
}

async function readMigrations(): Promise<Migration[]> {
  const names = (await readdir(folder)).filter((name) => name.endsWith('.sql')).sort();
  return Promise.all(
    names.map(async (name, index) => {
      const version = Number(name.slice(0, 3));
      if (version !== index + 1) throw new Error(`migrations must be numbered without gaps: ${name}`);
      const sql = await readFile(new URL(name, folder), 'utf8');
      return { version, name, sql, checksum: createHash('sha256').update(sql).digest('hex') };
    }),
  );
}
