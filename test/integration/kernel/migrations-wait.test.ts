import pg from 'pg';
import { afterEach, beforeAll, expect, test } from 'vitest';
import { prepareDatabase } from '../../../src/app/database.ts';
import { features } from '../../../src/app/features.ts';
import { migrate } from '../../../src/kernel/db/migrate.ts';
import { asMigration, type Migration, readMigrations } from '../../../src/kernel/db/schema-version.ts';
import { createLogger } from '../../../src/kernel/log/logger.ts';
import { useDatabase } from '../../support/database.ts';
import { until } from '../../support/until.ts';

const { db, url } = useDatabase();

/** Those of this release, and those that came after it in this database. */
let applied: readonly Migration[] = [];
beforeAll(async () => {
  applied = await readMigrations();
});

const sessions: pg.Client[] = [];
afterEach(async () => {
  for (const session of sessions.splice(0)) await session.end();
});

async function openReport(table: string): Promise<pg.Client> {
  const session = new pg.Client({ connectionString: url, application_name: 'a long report' });
  sessions.push(session);
  await session.connect();
  await session.query('BEGIN');
  await session.query(`SELECT FROM ${table}`);
  return session;
}

function andThen(sql: string): readonly Migration[] {
  const version = applied.length + 1;
  return [...applied, asMigration({ version, name: `${version}_more.sql`, sql })];
}

test('a migration that cannot have its lock lets others past, tells whom it waits for, and gets it in the end', async () => {
  const report = await openReport('accounts');
  const said: string[] = [];
  const migrations = andThen('ALTER TABLE accounts ADD COLUMN nickname text');
  const migrating = migrate(url, { migrations, lockMs: 500, patienceMs: 60_000, say: (line) => said.push(line) });
  await until('it to have given way twice', async () => said.length >= 2);
  for (const line of said) {
    expect(line).toMatch(
      /^Migration \d+_more\.sql waits for accounts, which is held by process \d+ \(a long report\), whose transaction is \d+ s old\. It lets other sessions go first and retries in [\d.]+ s\.$/,
    );
  }
  // Nobody stands in a line behind it for longer than it waits itself.
  await db.query('SELECT FROM accounts LIMIT 1');
  await db.query("UPDATE accounts SET name = 'Ada' WHERE false");
  await report.query('COMMIT');
  expect((await migrating).applied).toHaveLength(1);
  await db.query('SELECT nickname FROM accounts LIMIT 1');
  applied = migrations;
});

test('it ends when its patience does, and has changed nothing', async () => {
  await openReport('messages');
  const migrations = andThen('CREATE TABLE diaries (); ALTER TABLE messages ADD COLUMN mood text');
  await expect(migrate(url, { migrations, lockMs: 100, patienceMs: 0 })).rejects.toThrow(
    /^Migration .* failed: it timed out waiting for .*\. Nothing was changed; try again\.$/,
  );
  const { rows } = await db.query("SELECT to_regclass('diaries') AS diaries");
  expect(rows).toEqual([{ diaries: null }]);
});

test('a release goes on with a newer schema that serves it, takes nothing back, and refuses one that does not', async () => {
  const logger = createLogger('silent');
  const start = () => prepareDatabase(url, { features, logger });
  await expect(start(), 'the migration above does not say that it serves others').rejects.toThrow('of a newer release');
  const release = (await readMigrations()).length;
  await db.query('UPDATE schema_migrations SET serves_from = $1 WHERE version > $1', [release]);
  const migrations = andThen(`-- serves_from: ${release}\nCREATE TABLE diaries ();`);
  await migrate(url, { migrations });
  applied = migrations;
  // What the newer release lets its sagas do.
  await db.query("UPDATE sagas SET states = states || jsonb_build_object('a_newer_state', '[]'::jsonb)");
  await start();
  const { rows } = await db.query("SELECT FROM sagas WHERE NOT states ? 'a_newer_state'");
  expect(rows).toEqual([]);
  await migrate(url, { migrations: andThen('DROP TABLE diaries') });
  await expect(start()).rejects.toThrow(
    `The database has migration ${applied.length + 1} of a newer release, which this release cannot run on: use the newer release.`,
  );
});
